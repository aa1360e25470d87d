import { userInfo } from "node:os";

/** The name of the user of this system; in a container whose user has no name, its number. */
export function systemUser(read: () => { readonly username: string } = userInfo): string {
  try {
    return read().username;
  } catch {
    return `user ${process.getuid?.() ?? "without a name"}`;
  }
}
