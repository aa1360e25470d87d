import { CommandError } from "./failure.ts";
import type { Io, LocalHost } from "./io.ts";

/** @throws CommandError where the package is not installed */
export async function loadLocalHost(io: Io): Promise<LocalHost> {
  try {
    return await io.loadLocal();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CommandError("@ghouls/local is not installed", "Run `npm install --save-dev @ghouls/local`.");
  }
}

/** Only the package itself, not one that it needs. */
function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_MODULE_NOT_FOUND" && (error as Error).message.includes("'@ghouls/local'");
}
