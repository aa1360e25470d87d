import { setTimeout as delay } from "node:timers/promises";
import { commandOf, isAlive, signalIfAlive, untilGone } from "./alive.ts";
import { settledWithin } from "./function.ts";
import type { WorkerEnds } from "./parts.ts";
import type { ProcessEntry } from "./state.ts";

export interface SupervisorOptions {
  readonly ledger: WorkerEnds;
  readonly log: (text: string) => void;
  readonly actsMarginSeconds: number;
  /** Tries of one record; 6 by default. After them the ledger's lease decides. */
  readonly tries?: number;
  /** The pause after the first failed try, in milliseconds; doubles with each. 250 by default. */
  readonly pauseMs?: number;
}

/** Tells the ledger about the end of worker processes: it has seen them end, so their claims need not wait. */
export interface Supervisor {
  /** Never rejects. */
  record(worker: string, how: string): Promise<void>;
  /**
   * Waits up to `graceMs` for the records under way, then gives up on them and closes the ledger.
   * @returns the workers whose end was not recorded, for the next start
   */
  close(graceMs: number): Promise<readonly string[]>;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const open = new Set<Promise<void>>();
  const unrecorded = new Set<string>();
  const closing = new AbortController();
  return {
    record: (worker, how) => {
      unrecorded.add(worker);
      const recording = record(options, worker, how, closing.signal).then((recorded) => {
        if (recorded) unrecorded.delete(worker);
      });
      open.add(recording);
      return recording.finally(() => open.delete(recording));
    },
    close: async (graceMs) => {
      await settledWithin([...open], graceMs);
      closing.abort();
      await options.ledger.close();
      return [...unrecorded];
    },
  };
}

async function record(
  options: SupervisorOptions,
  worker: string,
  how: string,
  closing: AbortSignal,
): Promise<boolean> {
  const tries = options.tries ?? 6;
  for (let attempt = 1; attempt <= tries && !closing.aborted; attempt += 1) {
    try {
      const marked = await options.ledger.deliveries.recordWorkerEnd({
        worker,
        how,
        actsMarginSeconds: options.actsMarginSeconds,
      });
      if (marked > 0) options.log(`${worker} ended (${how}); it held ${marked} delivery(s)`);
      return true;
    } catch (error) {
      options.log(
        `the end of ${worker} was not recorded: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    if (attempt === tries) return false;
    await delay((options.pauseMs ?? 250) * 2 ** (attempt - 1), undefined, { signal: closing }).catch(
      () => undefined,
    );
  }
  return false;
}

/**
 * Makes sure that the processes of a host that was killed are gone, and records the end of its workers. They end by
 * themselves when their host does; one that does not is killed, if it still is the program that we had started.
 * @param programs parts of the command lines of our own programs
 */
export async function endLeftBehind(
  entries: readonly ProcessEntry[],
  programs: readonly string[],
  supervisor: Supervisor,
): Promise<void> {
  const workers = entries.filter((entry) => entry.worker !== undefined);
  await Promise.all(
    workers.map(async ({ pid, worker = "" }) => {
      if (pid > 0 && (await isOurs(pid, programs))) {
        signalIfAlive(pid, "SIGKILL");
        if (!(await untilGone(pid, 5_000))) return;
      }
      await supervisor.record(worker, "its host ended");
    }),
  );
}

async function isOurs(pid: number, programs: readonly string[]): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const command = await commandOf(pid);
  return programs.some((program) => command.includes(program));
}
