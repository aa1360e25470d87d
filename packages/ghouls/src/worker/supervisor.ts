import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describeEnd, entryBeside, startChild, untilReady, type Child } from "../processes/child.ts";
import { createEndRecorder, type EndRecorder } from "../processes/worker-ends.ts";
import { openEndsLedger } from "./ends-ledger.ts";
import { openLeftWorkers, type LeftWorkers } from "./left-workers.ts";
import type { WorkerOrder, WorkerReady } from "./order.ts";

export interface SupervisorOptions {
  readonly order: WorkerOrder;
  /** The name of this supervisor; its processes are called `<name>/<chance>`. */
  readonly name: string;
  /** How long a process may go on after the end was asked for, in milliseconds; as long as it takes where absent. */
  readonly graceMs?: number;
  /** Where the names of processes are kept whose end is not recorded. */
  readonly stateDir?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (text: string) => void;
  /** Fires when the end is asked for. */
  readonly ending: AbortSignal;
  readonly times?: Partial<SupervisorTimes>;
}

interface SupervisorTimes {
  /** The pause before a process that ended is started again, in milliseconds; doubles up to 64 times it. */
  readonly pauseMs: number;
  /** A process that has gone on for so long begins the pauses anew, in milliseconds. */
  readonly goodWhileMs: number;
  /** How long the last records may take, in milliseconds. */
  readonly recordMs: number;
  /** How long the server may still carry out what a process that is gone had sent, in milliseconds. */
  readonly againMs: number;
}

/** The application's role ends a statement after 15 seconds. */
const TIMES: SupervisorTimes = { pauseMs: 1_000, goodWhileMs: 60_000, recordMs: 30_000, againMs: 16_000 };

/**
 * Keeps a worker process running until the end is asked for, and records the end of each that it has seen end.
 * @returns whether all of those ends are recorded
 * @throws GhoulsError where the first process cannot begin, with what to do
 */
export async function superviseWorker(options: SupervisorOptions): Promise<boolean> {
  const { log, name } = options;
  const times = { ...TIMES, ...options.times };
  const records = await openRecords(options, times);
  log(
    `supervisor ${name} (process ${process.pid}); whoever has seen all of it end may say: ghouls worker ended ${name} --reason "<how you know>"`,
  );
  let unrecorded: readonly string[] = [];
  try {
    await keepRunning(options, records, times);
  } finally {
    unrecorded = await records.close();
  }
  return unrecorded.length === 0;
}

async function keepRunning(
  options: SupervisorOptions,
  records: Records,
  times: SupervisorTimes,
): Promise<void> {
  const { log, ending } = options;
  for (let quick = 0, first = true; !ending.aborted; first = false) {
    const began = performance.now();
    const one = startProcess(options);
    try {
      const ready = await untilItIsReady(one, ending);
      await records.keep(one, ready);
      one.child.send({ type: "begin" });
      log(`${one.worker} (process ${one.child.pid}) serves ${ready.serves}`);
    } catch (error) {
      // It has claimed nothing: it may be ended by force.
      one.child.kill("SIGKILL");
      await one.child.ended;
      await records.neverBegan(one.worker);
      if (ending.aborted) return;
      if (first) throw error;
      log(`${one.worker} could not begin: ${error instanceof Error ? error.message : String(error)}`);
      await pause(times.pauseMs, (quick += 1), ending);
      continue;
    }
    const how = await untilItEnds(one, options);
    log(`${one.worker} (process ${one.child.pid}) ended: ${how}`);
    records.ended(one.worker, how);
    quick = performance.now() - began < times.goodWhileMs ? quick + 1 : 0;
    await pause(times.pauseMs, quick, ending);
  }
}

interface WorkerProcess {
  /** Identity under which it claims; no other process ever has it. */
  readonly worker: string;
  readonly child: Child;
}

function startProcess({ name, env, order }: SupervisorOptions): WorkerProcess {
  const worker = `${name}/${randomBytes(4).toString("hex")}`;
  const child = startChild({
    source: worker,
    entry: entryBeside(import.meta.url, "./process"),
    args: [JSON.stringify(order)],
    env: { ...env, GHOULS_WORKER_ID: worker },
  });
  return { worker, child };
}

/** @throws GhoulsError with the reason why it cannot begin, or Error where the end was asked for before it could */
async function untilItIsReady({ worker, child }: WorkerProcess, ending: AbortSignal): Promise<WorkerReady> {
  const told = Promise.withResolvers<never>();
  const giveUp = (): void => told.reject(new Error("the end was asked for"));
  ending.addEventListener("abort", giveUp, { once: true });
  try {
    const ready = await Promise.race([untilReady(child, `the worker ${worker}`), told.promise]);
    return ready as unknown as WorkerReady;
  } finally {
    ending.removeEventListener("abort", giveUp);
  }
}

/** Asks it to end when the end is asked for, and ends it by force only where a grace is given. Answers how it ended. */
async function untilItEnds({ worker, child }: WorkerProcess, options: SupervisorOptions): Promise<string> {
  const { ending, graceMs, log } = options;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let forced = "";
  const end = (): void => {
    log(
      `${worker} is told to end; ${graceMs === undefined ? "its steps take as long as they take" : `by force in ${graceMs} ms`}`,
    );
    child.kill("SIGTERM");
    if (graceMs === undefined) return;
    timer = setTimeout(() => {
      forced = ` (by force, after a grace of ${graceMs} ms)`;
      child.kill("SIGKILL");
    }, graceMs);
  };
  ending.addEventListener("abort", end, { once: true });
  if (ending.aborted) end();
  const how = await child.ended;
  ending.removeEventListener("abort", end);
  clearTimeout(timer);
  return `${describeEnd(how)}${forced}`;
}

/** Longer after each quick end in a row; none after a good while, or when the end is asked for. */
async function pause(pauseMs: number, quick: number, ending: AbortSignal): Promise<void> {
  if (quick === 0) return;
  await delay(pauseMs * 2 ** Math.min(quick - 1, 6), undefined, { signal: ending }).catch(() => undefined);
}

/** What is known of the ends of processes, in the ledger and, until it is there, in a file. */
interface Records {
  /** To be awaited before the process may claim anything. */
  keep(one: WorkerProcess, ready: WorkerReady): Promise<void>;
  ended(worker: string, how: string): void;
  /** A process that may have been kept, and has claimed nothing. */
  neverBegan(worker: string): Promise<void>;
  /** Waits a while for what is not recorded, and answers what it was. */
  close(): Promise<readonly string[]>;
}

async function openRecords(
  options: SupervisorOptions,
  { recordMs, againMs }: SupervisorTimes,
): Promise<Records> {
  const { log, stateDir, env } = options;
  const left: LeftWorkers | undefined = stateDir === undefined ? undefined : await openLeftWorkers(stateDir);
  let ends: EndRecorder | undefined;
  const forget = async (worker: string): Promise<void> => {
    try {
      await left?.forget(worker);
    } catch (error) {
      // At worst the next one records it again, which changes nothing.
      log(`${worker} stays in ${stateDir}: ${String(error)}`);
    }
  };
  const record = async (worker: string, how: string): Promise<void> => {
    if ((await ends?.record(worker, how)) === true) await forget(worker);
  };
  return {
    keep: async ({ worker, child }, ready) => {
      await left?.add(worker, child.pid);
      if (ends !== undefined) return;
      ends = createEndRecorder({
        ledger: openEndsLedger(env, ready, (line) => void process.stdout.write(line)),
        actsMarginSeconds: ready.actsMarginSeconds,
        log,
        // No claim of theirs is over by time: somebody has to say it.
        tries: Number.POSITIVE_INFINITY,
        againMs,
      });
      await left?.adopt((gone) => void record(gone, "its supervisor was gone"), log);
    },
    ended: (worker, how) => void record(worker, how),
    neverBegan: forget,
    close: async () => {
      const unrecorded = (await ends?.close(recordMs)) ?? [];
      await left?.close();
      for (const worker of unrecorded)
        log(
          stateDir === undefined
            ? `the end of ${worker} is not recorded; say so once the ledger answers: ghouls worker ended ${worker} --reason "<how you know>"`
            : `the end of ${worker} is not recorded; the next start with --state-dir ${stateDir} does it`,
        );
      return unrecorded;
    },
  };
}
