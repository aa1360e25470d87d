import { expect } from "vitest";
import {
  durationMs,
  isTerminalRun,
  type AnyService,
  type AnyWorkflow,
  type DecisionSource,
  type QueuePort,
  type ReceivedMessage,
  type RunStatus,
} from "@ghouls/core";
import { CAPACITIES, FUNCTION_TIMEOUT, TIMING, WORKFLOWS, type CrashSettings } from "./crash-workflows.ts";
import type { TestDatabase } from "./database.ts";
import { letGo, startWorker, type Invocation, type WorkerProcess } from "./fault-driver.ts";
import { httpStub, type HttpStub } from "./http-stub.ts";
import type { TestQueue } from "./queue.ts";
import { until } from "./wait.ts";
import { testWorld, type World } from "./world.ts";

/** A world whose workers are processes, and whose steps act at a service that counts. */
export interface CrashWorld extends World {
  readonly stub: HttpStub;
  start(settings?: CrashSettings, databaseUrl?: string): Promise<WorkerProcess>;
  /** Messages that are visible now, in the queue `runs`. */
  receive(max?: number): Promise<readonly ReceivedMessage[]>;
  /** Takes what is visible, hands it to a worker and deletes what its answer lets go. Undefined where nothing is. */
  step(worker: WorkerProcess, remainingMs?: number): Promise<Invocation | undefined>;
  /** Hands the messages of a run to a worker whose time runs out while the run's first step waits for the service. */
  workShortly(
    worker: WorkerProcess,
    messages: readonly ReceivedMessage[],
    runId: string,
    meanwhile?: () => Promise<void>,
  ): Promise<Invocation>;
  /** Makes messages visible again, as their visibility timeout would. */
  lapse(messages: readonly ReceivedMessage[]): Promise<void>;
  /** Moves time on, reconciles and lets the worker work, until these runs have ended. */
  heal(runIds: readonly string[], worker: WorkerProcess): Promise<void>;
  /** Feeds workers from the queue until it is stopped: an event source mapping. */
  feed(workers: () => readonly WorkerProcess[]): Feeding;
  /** Reconciles until these runs have ended. Time moves only while no worker works, so that it costs no claim its lease. */
  finish(runIds: readonly string[], feeding: Feeding): Promise<void>;
  statusOf(runId: string): Promise<RunStatus>;
  /** Names of the journal's entries. */
  journalOf(runId: string): Promise<string[]>;
  deliveriesOf(runId: string): Promise<{ seq: number; status: string; outcome: string | null }[]>;
  /** What must hold of runs that have ended, whatever happened to their workers. */
  audit(runs: Readonly<Record<string, RunStatus>>, effects?: readonly string[]): Promise<void>;
}

interface Feeding {
  /** Whether no worker works, and the queue had nothing when it was last asked. */
  idle(): boolean;
  stop(): Promise<void>;
}

export interface CrashWorldOptions {
  readonly db?: TestDatabase;
  readonly sqs?: TestQueue;
  readonly maxConnections?: number;
  readonly services?: Readonly<Record<string, AnyService>>;
  readonly decisionSources?: Readonly<Record<string, DecisionSource>>;
  readonly origins?: readonly string[];
  /** The digest of each workflow: its name and version where absent. */
  readonly digestOf?: (workflow: AnyWorkflow) => string;
  /** Beside those of crash-workflows.ts. */
  readonly workflows?: readonly AnyWorkflow[];
}

/** A lease and a little: after it a silent worker is judged. */
export const LEASE_SECONDS = durationMs(TIMING.lease) / 1_000 + 0.5;
/** What a request may still do after its process has ended. */
export const MARGIN_SECONDS = durationMs(TIMING.actsMargin) / 1_000;
/** After it nothing of a claim can act any more, whatever became of its worker. */
export const OVER_SECONDS = durationMs(FUNCTION_TIMEOUT) / 1_000 + MARGIN_SECONDS + 0.5;

/** A run of `many` that hands over after its first step, where less than this is left. */
export const HANDS_OVER = { steps: 2, delay: 0, timeout: "10s" };
const SHORT_MS = 11_000;

export async function crashWorld(options: CrashWorldOptions = {}): Promise<CrashWorld> {
  const stub = await httpStub();
  const world = await testWorld({
    ...options,
    workflows: [...WORKFLOWS, ...(options.workflows ?? [])],
    settings: {
      leaseMs: durationMs(TIMING.lease),
      beatMs: durationMs(TIMING.beat),
      actsMarginSeconds: MARGIN_SECONDS,
      maxLosses: TIMING.maxLosses,
    },
  });
  const { db, queue, sqs, ledger } = world;
  // Said by the first worker of all: its way would be another than that of those after it.
  await ledger.capacities.say(CAPACITIES);

  const receive = (max = 10) => queue.receive("runs", { max, waitSeconds: 0 });
  const work = async (
    worker: WorkerProcess,
    port: QueuePort,
    messages: readonly ReceivedMessage[],
    remainingMs?: number,
  ) => {
    const invocation = await worker.work(messages, remainingMs);
    const gone = new Set(letGo(messages, invocation));
    await Promise.allSettled(
      messages
        .filter(({ messageId }) => gone.has(messageId))
        .map(({ receiptHandle }) => port.delete("runs", receiptHandle)),
    );
    return invocation;
  };
  const step: CrashWorld["step"] = async (worker, remainingMs) => {
    const messages = await receive(worker.settings.batchSize ?? 5);
    return messages.length === 0 ? undefined : work(worker, queue, messages, remainingMs);
  };
  const lapse: CrashWorld["lapse"] = async (messages) => {
    for (const { receiptHandle } of messages) await queue.changeVisibility("runs", receiptHandle, 0);
  };
  const statuses = async (runIds: readonly string[]) =>
    db.admin<{ run_id: string; status: RunStatus }>(
      "select run_id, status from ghouls.runs where run_id = any($1::uuid[])",
      [runIds],
    );
  const journalOf: CrashWorld["journalOf"] = async (runId) => {
    const rows = await db.admin<{ name: string }>(
      "select name from ghouls.journal where run_id = $1 order by ordinal",
      [runId],
    );
    return rows.map((row) => row.name);
  };
  const deliveriesOf: CrashWorld["deliveriesOf"] = (runId) =>
    db.admin("select seq, status, outcome from ghouls.deliveries where run_id = $1 order by seq", [runId]);

  return {
    ...world,
    stub,
    receive,
    step,
    workShortly: async (worker, messages, runId, meanwhile = () => Promise.resolve()) => {
      stub.hold("s1");
      const working = worker.work(messages);
      await until("its first step", () => stub.names(runId).length > 0 || !worker.alive());
      await meanwhile();
      await worker.remains(SHORT_MS);
      stub.release("s1");
      return working;
    },
    lapse,
    journalOf,
    deliveriesOf,
    start: (settings = {}, databaseUrl = db.applicationUrl) =>
      startWorker({ databaseUrl, stubUrl: stub.url, sqs, settings }),
    heal: async (runIds, worker) => {
      await until(`${runIds.length} runs have ended`, async () => {
        await world.reconcile();
        while ((await step(worker)) !== undefined);
        const found = await statuses(runIds);
        if (found.length === runIds.length && found.every((run) => isTerminalRun(run.status))) return true;
        await world.advance(LEASE_SECONDS);
        return false;
      });
    },
    feed: (workers) => {
      let stopped = false;
      let empty = false;
      const busy = new Map<WorkerProcess, Promise<unknown>>();
      const feeding = (async () => {
        while (!stopped) {
          const worker = workers().find((one) => one.alive() && !busy.has(one));
          const messages =
            worker === undefined ? [] : await receive(worker.settings.batchSize ?? 5).catch(() => []);
          empty = worker !== undefined && messages.length === 0;
          if (worker === undefined || messages.length === 0) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            continue;
          }
          const working = work(worker, queue, messages).then(async (invocation) => {
            // The whole batch comes back.
            if (invocation.kind !== "answered") await lapse(messages).catch(() => undefined);
          });
          busy.set(
            worker,
            working.finally(() => busy.delete(worker)),
          );
        }
      })();
      return {
        idle: () => empty && busy.size === 0,
        stop: async () => {
          stopped = true;
          await feeding;
          await Promise.all(busy.values());
        },
      };
    },
    finish: async (runIds, feeding) => {
      await until(`${runIds.length} runs have ended`, async () => {
        // The ledger may be out of reach for the test as well.
        await world.reconcile().catch(() => undefined);
        const found = await statuses(runIds).catch(() => []);
        if (found.length === runIds.length && found.every((run) => isTerminalRun(run.status))) return true;
        if (feeding.idle()) await world.advance(LEASE_SECONDS).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 50));
        return false;
      });
    },
    statusOf: async (runId) => (await statuses([runId]))[0]?.status as RunStatus,
    audit: async (expected, effects = ["pay"]) => {
      const runIds = Object.keys(expected);
      const found = await statuses(runIds);
      expect(Object.fromEntries(found.map((run) => [run.run_id, run.status]))).toEqual(expected);
      const settles = await db.admin<{ run_id: string; n: number }>(
        `select run_id, count(*) filter (where outcome in ('done', 'failed') and cause <> 'contain')::integer as n
         from ghouls.deliveries where run_id = any($1::uuid[]) group by run_id having
         count(*) filter (where outcome in ('done', 'failed') and cause <> 'contain') > 1`,
        [runIds],
      );
      expect(settles).toEqual([]);
      for (const runId of runIds) {
        const calls = stub.calls(runId);
        const steps = new Set(calls.map((call) => call.step));
        // One key for each step, whatever became of its callers.
        expect(new Set(calls.map((call) => `${call.step} ${call.key}`)).size).toBe(steps.size);
        for (const effect of effects) expect(stub.calls(runId, effect).length).toBeLessThanOrEqual(1);
      }
      const late = await db.admin(
        `select j.run_id, j.name from ghouls.journal j join ghouls.runs run using (tenant_id, run_id)
         where j.run_id = any($1::uuid[]) and date_trunc('milliseconds', run.finished_at) < j.completed_at`,
        [runIds],
      );
      expect(late).toEqual([]);
      expect((await ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
    },
  };
}

/** Host and port of a connection string, for a proxy. */
export function addressOf(connectionString: string): { host: string; port: number } {
  const { hostname, port } = new URL(connectionString);
  return { host: hostname, port: Number(port) };
}
