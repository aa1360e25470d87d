import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { readIfThere, writeAtomically } from "../processes/files.ts";
import { isSame, startedAt, thisMachine, type Machine } from "./machine.ts";

/** A process, by what tells it from a later one of the same number. */
const Process = z.object({ pid: z.int().positive(), startedAt: z.string() });
const Kept = z.object({
  machine: z.object({ boot: z.string(), namespace: z.string() }),
  supervisor: Process,
  workers: z.array(Process.extend({ worker: z.string() })),
});
type Kept = z.infer<typeof Kept>;
type KeptWorker = Kept["workers"][number];

/** Between two looks whether a process is still there, in milliseconds. */
const LOOK_MS = 500;
const FILE = /^workers-[0-9a-f-]+\.json$/;

/** The worker processes of a supervisor whose end is not recorded yet, in a file: the next one may have to say it. */
export interface LeftWorkers {
  /** Keeps a process. To be awaited before it may claim anything. */
  add(worker: string, pid: number): Promise<void>;
  /** The end of this one is recorded. */
  forget(worker: string): Promise<void>;
  /** Takes over what supervisors that are gone have left, and calls `gone` for each process once it surely is. */
  adopt(gone: (worker: string) => void, say: (text: string) => void): Promise<void>;
  /** Ends the watching. What is not forgotten stays for the next. */
  close(): Promise<void>;
}

/** @throws GhoulsError where this system cannot tell processes apart; or what keeps the folder from being written */
export async function openLeftWorkers(folder: string, proc = "/proc"): Promise<LeftWorkers> {
  const machine = await thisMachine(proc);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `workers-${randomUUID()}.json`);
  const own = await processOf(process.pid, proc);
  const workers = new Map<string, KeptWorker>();
  const closing = new AbortController();
  let writing: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> =>
    workers.size === 0
      ? rm(file, { force: true })
      : writeAtomically(file, JSON.stringify({ machine, supervisor: own, workers: [...workers.values()] }));
  const write = (): Promise<void> => {
    writing = writing.then(flush, flush);
    return writing;
  };
  const keep = (one: KeptWorker): Promise<void> => {
    workers.set(one.worker, one);
    return write();
  };
  return {
    add: async (worker, pid) => keep({ worker, ...(await processOf(pid, proc)) }),
    forget: (worker) => {
      workers.delete(worker);
      return write();
    },
    adopt: async (gone, say) => {
      for (const { file: theirs, workers: left } of await taken(folder, machine, proc, say)) {
        for (const one of left) await keep(one);
        await rm(theirs, { force: true });
        for (const one of left)
          void untilGone(one, proc, closing.signal).then(
            (isGone) => isGone && gone(one.worker),
            (error: unknown) => say(`whether ${one.worker} has ended cannot be told: ${String(error)}`),
          );
      }
    },
    close: async () => {
      closing.abort();
      await Promise.allSettled([writing]);
    },
  };
}

/** One that is gone already has no moment of its start: no process of that number can have it. */
async function processOf(pid: number, proc: string): Promise<z.infer<typeof Process>> {
  return { pid, startedAt: (await startedAt(pid, proc)) ?? "gone" };
}

interface Taken {
  readonly file: string;
  readonly workers: readonly KeptWorker[];
}

/** What supervisors of this machine and boot have left that are gone. Two that take the same at once say the same, which changes nothing. */
async function taken(
  folder: string,
  machine: Machine,
  proc: string,
  say: (text: string) => void,
): Promise<readonly Taken[]> {
  const found: Taken[] = [];
  for (const name of (await readdir(folder)).filter((one) => FILE.test(one))) {
    const file = join(folder, name);
    const text = await readIfThere(file);
    if (text === undefined) continue;
    const kept = keptIn(text);
    if (kept === undefined) {
      say(`${file} cannot be read; nothing is recorded of what it names`);
      continue;
    }
    if (!isSame(kept.machine, machine)) {
      const names = kept.workers.map(({ worker }) => worker).join(", ");
      say(
        `${file} is of another machine, container or boot, where ${names} may still run; once you know that they have ended: ghouls worker ended <worker> --reason "<how you know>"`,
      );
      continue;
    }
    const { pid, startedAt: since } = kept.supervisor;
    if ((await startedAt(pid, proc)) === since) continue;
    found.push({ file, workers: kept.workers });
  }
  return found;
}

function keptIn(text: string): Kept | undefined {
  try {
    return Kept.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** False where the watching was given up. A process that is left drains, and may take as long as its steps. */
async function untilGone(
  { pid, startedAt: since }: KeptWorker,
  proc: string,
  closing: AbortSignal,
): Promise<boolean> {
  while ((await startedAt(pid, proc)) === since) {
    if (closing.aborted) return false;
    await delay(LOOK_MS, undefined, { signal: closing }).catch(() => undefined);
  }
  return !closing.aborted;
}
