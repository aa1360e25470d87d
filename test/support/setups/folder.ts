import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder in memory where there is one, which another user may pass through. Its name says which process it belongs to. */
export function serverFolder(kind: "test" | "crash" = "test", base = baseFolder()): string {
  removeOrphans(base);
  const folder = mkdtempSync(join(base, `ghouls-${kind}-${process.pid}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * For every PostgreSQL of the tests. Shared memory that is a file of the data folder goes with it, also where the server was
 * killed; a segment of the system's own would stay.
 */
export const IN_ITS_FOLDER = "dynamic_shared_memory_type=mmap";

function baseFolder(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}

/** Takes away what runs have left that were killed: their servers, and the gigabytes of memory that their folders hold. */
function removeOrphans(base: string): void {
  for (const name of readdirSync(base)) {
    const owner = /^ghouls-(?:test|crash)-(\d+)-/.exec(name)?.[1];
    if (owner === undefined || signalled(Number(owner), 0)) continue;
    const folder = join(base, name);
    const server = serverOf(folder);
    if (server !== undefined) signalled(server, "SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether the process was there to be told. */
function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Somebody else's is there as well.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The process id of a PostgreSQL that works in this folder. */
function serverOf(folder: string): number | undefined {
  const lock = join(folder, "data/postmaster.pid");
  if (!existsSync(lock)) return undefined;
  const pid = Number(readFileSync(lock, "utf8").split("\n")[0]);
  const command = `/proc/${pid}/cmdline`;
  return existsSync(command) && readFileSync(command, "utf8").includes(folder) ? pid : undefined;
}
