import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Whether the platform of the SST that npm has installed lies under `.sst`, complete. @throws Error where SST is not installed */
export function platformIsCurrent(root: string): boolean {
  const manifest = read(root, "node_modules/sst/package.json");
  if (manifest === undefined) throw new Error("sst is not installed: npm ci");
  const { version } = JSON.parse(manifest) as { version: string };
  // The lock is written last: without it an installation was interrupted.
  return (
    read(root, ".sst/provider-lock.json") !== undefined && read(root, ".sst/platform/version") === version
  );
}

function read(root: string, path: string): string | undefined {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}
