import { setTimeout as delay } from "node:timers/promises";
import { settledWithin } from "./settled.ts";

/** Where the end of a worker process is recorded, so that its claims are judged at once. */
export interface WorkerEnds {
  readonly deliveries: {
    recordWorkerEnd(end: {
      readonly worker: string;
      readonly how: string;
      readonly actsMarginSeconds: number;
    }): Promise<number>;
  };
  close(): Promise<void>;
}

export interface EndRecorderOptions {
  readonly ledger: WorkerEnds;
  readonly log: (text: string) => void;
  readonly actsMarginSeconds: number;
  /** Tries of one record; 6 by default, after which the ledger's lease and the end of the invocation decide. */
  readonly tries?: number;
  /** The pause after the first failed try, in milliseconds; doubles with each, up to 64 times it. 250 by default. */
  readonly pauseMs?: number;
  /**
   * So long after a record it is made once more, in milliseconds: a claim that the process had sent may be carried out by the
   * server after its end. Left out where time ends such a claim anyway.
   */
  readonly againMs?: number;
}

/** After a clean end nothing of a process is on its way. */
const CLEAN = "exit code 0";

/** Tells the ledger about the end of worker processes that somebody has seen end, so that their claims need not wait. */
export interface EndRecorder {
  /** Whether it is recorded now. Never rejects. */
  record(worker: string, how: string): Promise<boolean>;
  /**
   * Waits up to `graceMs` for the records under way, then gives up on them and closes the ledger.
   * @returns the workers whose end was not recorded, for the next start
   */
  close(graceMs: number): Promise<readonly string[]>;
}

export function createEndRecorder(options: EndRecorderOptions): EndRecorder {
  const open = new Set<Promise<boolean>>();
  const unrecorded = new Set<string>();
  const closing = new AbortController();
  return {
    record: (worker, how) => {
      unrecorded.add(worker);
      const recording = recordSurely(options, worker, how, closing.signal).then((recorded) => {
        if (recorded) unrecorded.delete(worker);
        return recorded;
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

async function recordSurely(
  options: EndRecorderOptions,
  worker: string,
  how: string,
  closing: AbortSignal,
): Promise<boolean> {
  const recorded = await record(options, worker, how, closing);
  if (!recorded || options.againMs === undefined || how === CLEAN) return recorded;
  await delay(options.againMs, undefined, { signal: closing }).catch(() => undefined);
  return record(options, worker, how, closing);
}

async function record(
  options: EndRecorderOptions,
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
    await delay((options.pauseMs ?? 250) * 2 ** Math.min(attempt - 1, 6), undefined, {
      signal: closing,
    }).catch(() => undefined);
  }
  return false;
}
