import { randomBytes, randomUUID } from "node:crypto";
import {
  canonicalText,
  identityCodec,
  noFaults,
  noLiveStream,
  parseJson,
  type AnyService,
  type AnyWorkflow,
  type AuthorityCheck,
  type Codec,
  type DecisionSource,
  type FaultInjector,
  type GrantProvider,
  type Logger,
  type MetricName,
  type Principal,
  type Publication,
  type QueuePort,
  type ReceivedMessage,
  type wire,
} from "@ghouls/core";
import {
  DEFAULT_EXECUTION_SETTINGS,
  Publisher,
  Registry,
  createAdmission,
  createAnnouncement,
  createAttempts,
  createConsents,
  createControl,
  createIntegrity,
  createPauses,
  createDirectEgress,
  createKeyAuthority,
  createLedgerGrants,
  createReads,
  createSignals,
  noReleases,
  reconcile,
  work,
  type AdmissionRequest,
  type CloseChannel,
  type ExecutionDeps,
  type ExecutionSettings,
  type MessageOutcome,
  type Releases,
  type Route,
} from "@ghouls/engine";
import type { BeforeOpening, Ledger, RetentionAges } from "@ghouls/ledger";
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
  readonly consents: ReturnType<typeof createConsents>;
  readonly signals: ReturnType<typeof createSignals>;
  readonly attempts: ReturnType<typeof createAttempts>;
  readonly control: ReturnType<typeof createControl>;
  readonly pauses: ReturnType<typeof createPauses>;
  readonly integrity: ReturnType<typeof createIntegrity>;
  readonly logged: LogLine[];
  readonly measured: Measured[];
  /** Why a worker asked to end its process. */
  readonly exits: string[];
  readonly deps: ExecutionDeps;
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
  /** Forgets every run and message. */
  reset(): Promise<void>;
  /** Moves the ledger's clock forward. */
  advance(seconds: number): Promise<void>;
  /** Lets time pass, the reconciler look, and workers go on. */
  readonly later: (seconds: number) => Promise<void>;
  /** The only delegated job that there is. */
  readonly onlyAttempt: () => Promise<wire.AttemptSummary>;
  /** The invariants of the ledger that do not hold. */
  readonly broken: () => Promise<readonly unknown[]>;
}

interface Measured {
  readonly name: MetricName;
  readonly value: number;
  readonly which: string | undefined;
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
  readonly releases?: Releases;
  /** A database and a queue server of the caller's own; fresh ones where absent. */
  readonly db?: TestDatabase;
  readonly sqs?: TestQueue;
  /** Connections of this process to the ledger; 6 where absent. */
  readonly maxConnections?: number;
  /** What is awaited before work is opened. */
  readonly beforeOpening?: BeforeOpening;
  readonly decisionSources?: Readonly<Record<string, DecisionSource>>;
  readonly services?: Readonly<Record<string, AnyService>>;
  /** The ledger's own where absent. */
  readonly authority?: AuthorityCheck;
  readonly grants?: GrantProvider;
  readonly capacities?: Readonly<Record<string, number>>;
  /** How long bodies, copies and repairs are kept; for ever where absent. */
  readonly retention?: RetentionAges;
  /** Origins that these may have. */
  readonly origins?: readonly string[];
  /** Nobody looks on where absent. */
  readonly live?: ExecutionDeps["live"];
  readonly closeChannel?: CloseChannel;
  /** Opens the live channel before publications; none where absent. */
  readonly open?: (publications: readonly Publication[]) => Promise<void>;
  /** The digest of each workflow: its name and version where absent. */
  readonly digestOf?: (workflow: AnyWorkflow) => string;
}

export async function testWorld(options: WorldOptions): Promise<World> {
  const [db, sqs] = await Promise.all([options.db ?? testDatabase(), options.sqs ?? testQueue()]);
  await movableClock(db);
  const faults = options.faults ?? noFaults;
  const ledger = db.ledger({
    faults,
    maxConnections: options.maxConnections ?? 6,
    ...(options.beforeOpening === undefined ? {} : { beforeOpening: options.beforeOpening }),
  });
  const queue = sqs.open(faults);
  const codec = options.codec ?? identityCodec;
  const digestOf = options.digestOf ?? ((workflow: AnyWorkflow) => `${workflow.name}@${workflow.version}`);
  const registry = new Registry(
    options.workflows.map((definition) => ({ definition, digest: digestOf(definition) })),
  );
  const logged: LogLine[] = [];
  const measured: Measured[] = [];
  const exits: string[] = [];
  const log = recorder(logged);
  const ids = { next: () => randomUUID() };
  const { open } = options;
  const publisher = new Publisher({ ledger, queue, faults, log, open });
  const capacities = options.capacities ?? {};
  const admission = createAdmission({
    ledger,
    queue,
    registry,
    announce: createAnnouncement({ ledger, registry, capacities, build: "build-1" }),
    codec,
    ids,
    faults,
    log,
    ...(open === undefined ? {} : { open }),
    route: options.route,
    queues: ["runs", "rites"],
    lockTimeoutMs: 500,
  });
  const deps: ExecutionDeps = {
    ledger,
    queue,
    registry,
    releases: options.releases ?? noReleases,
    codec,
    ids,
    faults,
    metrics: {
      record: (name, value, which) => void measured.push({ name, value, which }),
      flush: () => undefined,
    },
    log,
    logFor: () => log,
    live: options.live ?? noLiveStream,
    clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
    publisher,
    decisionSources: options.decisionSources ?? {},
    queues: ["runs", "rites"],
    authority: options.authority ?? createKeyAuthority(ledger),
    grants: options.grants ?? createLedgerGrants(ledger),
    capacities,
    delegation: {
      services: options.services ?? {},
      egress: createDirectEgress({ services: options.services ?? {}, origins: options.origins ?? [] }),
      publicUrl: "https://ghouls.example",
      newToken: () => randomBytes(32).toString("base64url"),
    },
    draining: new AbortController().signal,
    exit: (why) => {
      exits.push(why);
    },
    chance: () => 0,
    worker: "worker-1",
    settings: {
      ...DEFAULT_EXECUTION_SETTINGS,
      replayPatienceMs: 200,
      reservePollMs: 20,
      ...options.settings,
    },
  };
  const reads = createReads({ ledger, codec, registry });
  const consents = createConsents({ ledger, codec, publisher, faults });
  const signals = createSignals({ ledger, codec, ids, publisher, faults });
  const attempts = createAttempts({ ledger, codec, publisher, faults, log });
  const control = createControl({
    ledger,
    publisher,
    settings: deps.settings,
    closeChannel: options.closeChannel,
  });
  const pauses = createPauses({ ledger, ids });
  const integrity = createIntegrity({ ledger });

  const deliver: World["deliver"] = (
    bodies,
    overrides = {},
    { limitMs = 900_000, remainingMs = () => limitMs } = {},
  ) =>
    work(
      bodies.map((body, index) => ({ messageId: `m${index}`, receiptHandle: `none-${index}`, body })),
      { ...deps, ...overrides },
      { queue: "runs", limitMs, remainingMs, endsByForce: true },
    );

  const world: World = {
    db,
    sqs,
    queue,
    ledger,
    admission,
    reads,
    consents,
    signals,
    attempts,
    control,
    pauses,
    integrity,
    logged,
    measured,
    exits,
    deps,
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
                { queue: name, limitMs: 900_000, remainingMs: () => 900_000, endsByForce: true },
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
      reconcile({
        ...deps,
        queue,
        retention: options.retention,
        closeChannel: options.closeChannel,
        pageSize: 100,
        pageBudgetMs: 100,
        remainingMs: () => 60_000,
      }),
    view: async (runId) => {
      const view = await reads.getRun(SOMEBODY.tenantId, runId);
      if (view === undefined) throw new Error(`no run ${runId}`);
      return view;
    },
    reset: async () => {
      await db.admin(
        "truncate ghouls.runs, ghouls.child_ends, ghouls.pauses, ghouls.evidence, ghouls.skips, ghouls.end_acts, ghouls.terminal_records, ghouls.seals, ghouls.integrity_faults, ghouls.passes, ghouls.degraded_owners, ghouls.repairs cascade",
      );
      for (let messages = await receiveAll(queue); messages.length > 0; messages = await receiveAll(queue)) {
        for (const [name, received] of messages) {
          for (const message of received) await queue.delete(name, message.receiptHandle);
        }
      }
    },
    advance: async (seconds) => {
      await db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
    },
    later: async (seconds) => {
      await world.advance(seconds);
      await world.reconcile();
      await world.drain();
    },
    onlyAttempt: async () => {
      const [one, ...more] = (await world.attempts.list(SOMEBODY.tenantId, {}, { limit: 50 })).attempts;
      if (one === undefined || more.length > 0) throw new Error(`${more.length + 1} attempts, not one`);
      return one;
    },
    broken: async () => (await ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity"),
  };
  return world;
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
/** Lets a test move the ledger's clock: `ahead` of the one row of ghouls.test_clock. A copy of such a database has it. */
export async function movableClock(db: TestDatabase): Promise<void> {
  const [present] = await db.admin("select to_regclass('ghouls.test_clock') as clock");
  if (present?.["clock"] !== null) return;
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
