import { randomUUID } from "node:crypto";
import {
  canonicalText,
  identityCodec,
  noFaults,
  parseJson,
  type AnyWorkflow,
  type Codec,
  type FaultInjector,
  type Logger,
  type Principal,
  type QueuePort,
  type ReceivedMessage,
  type wire,
} from "@ghouls/core";
import {
  DEFAULT_EXECUTION_SETTINGS,
  Registry,
  createAdmission,
  createReads,
  reconcile,
  work,
  type AdmissionRequest,
  type ExecutionDeps,
  type ExecutionSettings,
  type MessageOutcome,
  type Route,
} from "@ghouls/engine";
import type { Ledger } from "@ghouls/ledger";
import { testDatabase, type TestDatabase } from "./database.ts";
import { testQueue, type TestQueue } from "./queue.ts";

export const SOMEBODY: Principal = { tenantId: "acme", subject: "user:ada", roles: ["operator"] };

/** The engine over a real PostgreSQL and a real SQS server, in this process. */
export interface World {
  readonly db: TestDatabase;
  readonly sqs: TestQueue;
  readonly queue: QueuePort;
  readonly ledger: Ledger;
  readonly admission: ReturnType<typeof createAdmission>;
  readonly reads: ReturnType<typeof createReads>;
  readonly logged: LogLine[];
  submit(
    workflow: string,
    input?: unknown,
    extra?: Partial<AdmissionRequest["request"]> & { key?: string },
  ): Promise<wire.Admitted>;
  /** Receives and works until the queues have nothing visible left; answers every outcome. */
  drain(options?: DrainOptions): Promise<MessageOutcome[]>;
  /** One message or many through a worker, without a queue in between. */
  deliver(
    bodies: readonly string[],
    deps?: Partial<ExecutionDeps>,
    options?: { limitMs?: number; remainingMs?: () => number },
  ): Promise<MessageOutcome[]>;
  reconcile(): ReturnType<typeof reconcile>;
  view(runId: string): Promise<wire.RunView>;
  /** Moves the ledger's clock forward. */
  advance(seconds: number): Promise<void>;
}

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

interface DrainOptions {
  /** How often each message is handed to a worker. */
  readonly copies?: number;
  readonly deps?: Partial<ExecutionDeps>;
}

export interface WorldOptions {
  readonly workflows: readonly AnyWorkflow[];
  readonly route?: Route;
  readonly codec?: Codec;
  readonly faults?: FaultInjector;
  readonly settings?: Partial<ExecutionSettings>;
  /** The digest of each workflow: its name and version where absent. */
  readonly digestOf?: (workflow: AnyWorkflow) => string;
}

export async function testWorld(options: WorldOptions): Promise<World> {
  const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
  await movableClock(db);
  const faults = options.faults ?? noFaults;
  const ledger = db.ledger({ faults, maxConnections: 6 });
  const queue = sqs.open(faults);
  const codec = options.codec ?? identityCodec;
  const digestOf = options.digestOf ?? ((workflow: AnyWorkflow) => `${workflow.name}@${workflow.version}`);
  const registry = new Registry(
    options.workflows.map((definition) => ({ definition, digest: digestOf(definition) })),
  );
  const logged: LogLine[] = [];
  const log = recorder(logged);
  const ids = { next: () => randomUUID() };
  const admission = createAdmission({
    ledger,
    queue,
    registry,
    codec,
    ids,
    faults,
    log,
    route: options.route,
    queues: ["runs", "rites"],
    lockTimeoutMs: 500,
  });
  const deps: ExecutionDeps = {
    ledger,
    queue,
    registry,
    codec,
    ids,
    faults,
    log,
    logFor: () => log,
    clock: { monotonicMs: () => performance.now() },
    chance: () => 0,
    worker: "worker-1",
    settings: {
      ...DEFAULT_EXECUTION_SETTINGS,
      replayPatienceMs: 200,
      ...options.settings,
    },
  };
  const reads = createReads({ ledger, codec });

  const deliver: World["deliver"] = (
    bodies,
    overrides = {},
    { limitMs = 900_000, remainingMs = () => limitMs } = {},
  ) =>
    work(
      bodies.map((body, index) => ({ messageId: `m${index}`, receiptHandle: `none-${index}`, body })),
      { ...deps, ...overrides },
      { queue: "runs", limitMs, remainingMs },
    );

  return {
    db,
    sqs,
    queue,
    ledger,
    admission,
    reads,
    logged,
    submit: (workflow, input = null, { key, ...extra } = {}) =>
      admission.admit(SOMEBODY, requestOf({ workflow, input, ...extra }, key)),
    drain: async ({ copies = 1, deps: overrides = {} } = {}) => {
      const outcomes: MessageOutcome[] = [];
      for (;;) {
        const received = await receiveAll(queue);
        if (received.length === 0) return outcomes;
        for (const [name, messages] of received) {
          const handed = messages.flatMap((message) => Array.from({ length: copies }, () => message));
          const seen = await Promise.all(
            Array.from({ length: copies }, () =>
              work(
                messages,
                { ...deps, ...overrides },
                { queue: name, limitMs: 900_000, remainingMs: () => 900_000 },
              ),
            ),
          );
          outcomes.push(...seen.flat());
          for (const message of handed) {
            if (seen.flat().some((one) => one.messageId === message.messageId && one.done)) {
              await queue.delete(name, message.receiptHandle);
            }
          }
        }
      }
    },
    deliver,
    reconcile: () =>
      reconcile({ ledger, queue, faults, log, pageSize: 100, pageBudgetMs: 100, remainingMs: () => 60_000 }),
    view: async (runId) => {
      const view = await reads.getRun(SOMEBODY.tenantId, runId);
      if (view === undefined) throw new Error(`no run ${runId}`);
      return view;
    },
    advance: async (seconds) => {
      await db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
    },
  };
}

/** An admission as the API makes it from a request. */
export function requestOf(request: Record<string, unknown>, key?: string): AdmissionRequest {
  const document = parseJson(JSON.stringify(request));
  return {
    request: document.value as AdmissionRequest["request"],
    canonicalRequest: document.canonical,
    inputText: document.member("input") ?? canonicalText(null),
    ...(key === undefined ? {} : { idempotencyKey: key }),
  };
}

async function receiveAll(queue: QueuePort): Promise<[string, readonly ReceivedMessage[]][]> {
  const all: [string, readonly ReceivedMessage[]][] = [];
  for (const name of ["runs", "rites"]) {
    const messages = await queue.receive(name, { max: 10, waitSeconds: 0 });
    if (messages.length > 0) all.push([name, messages]);
  }
  return all;
}

/** Replaces the ledger's clock by one that a test can move (design.md §3, Time). */
async function movableClock(db: TestDatabase): Promise<void> {
  await db.admin("create table ghouls.test_clock (ahead interval not null)");
  await db.admin("insert into ghouls.test_clock values ('0 seconds')");
  await db.admin("grant select on ghouls.test_clock to public");
  await db.admin(
    `create or replace function ghouls.clock() returns timestamptz language sql stable parallel safe
     as 'select statement_timestamp() + (select ahead from ghouls.test_clock)'`,
  );
}

function recorder(lines: LogLine[]): Logger {
  const at =
    (level: string): Logger["info"] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields });
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
