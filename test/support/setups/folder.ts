import { chmodSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder in memory where there is one, which another user may pass through. */
export function serverFolder(): string {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-test-"));
  chmodSync(folder, 0o755);
  return folder;
}
