import { rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Notice } from "./notices.ts";
import type { CodeState } from "./reload.ts";
import { readIfThere, writeAtomically } from "ghouls/processes/files";

/** A process of the host. `worker` is the identity under which it claims. */
export interface ProcessEntry {
  readonly role: string;
  readonly pid: number;
  readonly queue?: string;
  readonly worker?: string;
  /** Where a debugger attaches to it. */
  readonly inspector?: string;
}

/** What `dev.json` tells other programs on this machine (design.md §6). */
export interface DevState {
  readonly apiUrl: string;
  /** Where the console is; absent where it was not built. */
  readonly consoleUrl?: string;
  readonly databaseUrl: string;
  readonly databaseSchema: string;
  /** As the role that owns the schema, for `ghouls keys` and `ghouls dev replay`; only where the database lives in the data folder. */
  readonly migrationUrl?: string;
  /** Absent where the queues are not on this machine. */
  readonly sqsUrl?: string;
  /** Where the live channel is. */
  readonly dynamodbUrl: string;
  /** Where the project's buckets are, if it has some on this machine. */
  readonly s3Url?: string;
  /** Keys of the ledger. */
  readonly tokens: { readonly operator: string; readonly submitter: string; readonly decider: string };
  readonly processes: readonly ProcessEntry[];
  /** The code that runs. */
  readonly code?: CodeState;
  /** What the check of replays has found, the newest last. */
  readonly notices?: readonly Notice[];
}

/** `dev.json`, kept current; only its owner may read it. */
export interface StateFile {
  /** Writes the state; rewrites it when several updates come at once only as often as needed. */
  write(state: DevState): Promise<void>;
  /** Takes it away at once; later writes do nothing. */
  remove(): void;
}

export function stateFileOf(dataDir: string): string {
  return join(dataDir, "dev.json");
}

export function openStateFile(dataDir: string): StateFile {
  const file = stateFileOf(dataDir);
  let latest: string | undefined;
  let removed = false;
  let queue: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    const text = latest;
    latest = undefined;
    if (text === undefined || removed) return;
    await writeAtomically(file, text);
    if (removed) rmSync(file, { force: true });
  };
  return {
    write: (state) => {
      latest = `${JSON.stringify(state, null, 2)}\n`;
      queue = queue.then(flush, flush);
      return queue;
    },
    remove: () => {
      removed = true;
      rmSync(file, { force: true });
    },
  };
}

/** What a killed host had written, under a name that nobody takes for a running one's. */
function leftBehindOf(dataDir: string): string {
  return join(dataDir, "left-behind.json");
}

/**
 * Takes the `dev.json` of a host that went without removing it out of the way.
 * @returns its processes, until {@link forgetLeftBehind}; none for a file that cannot be read
 */
export async function takeLeftBehind(dataDir: string): Promise<readonly ProcessEntry[]> {
  const text = await readIfThere(stateFileOf(dataDir));
  if (text !== undefined) await rename(stateFileOf(dataDir), leftBehindOf(dataDir));
  const kept = await readIfThere(leftBehindOf(dataDir));
  return kept === undefined ? [] : processesOf(kept);
}

/** Leaves workers to the next start whose end could not be recorded; their processes are gone. */
export async function keepLeftBehind(dataDir: string, workers: readonly string[]): Promise<void> {
  if (workers.length === 0) return;
  const processes = workers.map((worker) => ({ role: "worker", pid: 0, worker }));
  await writeAtomically(leftBehindOf(dataDir), `${JSON.stringify({ processes })}\n`);
}

/** To be called when what was left behind has been dealt with; a start that fails before leaves it to the next. */
export async function forgetLeftBehind(dataDir: string): Promise<void> {
  await rm(leftBehindOf(dataDir), { force: true });
}

function processesOf(text: string): readonly ProcessEntry[] {
  try {
    const { processes } = JSON.parse(text) as { processes: readonly Partial<ProcessEntry>[] };
    return processes.filter(
      (entry): entry is ProcessEntry => typeof entry.role === "string" && typeof entry.pid === "number",
    );
  } catch {
    return [];
  }
}
