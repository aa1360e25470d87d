import { randomBytes, randomUUID } from "node:crypto";
import {
  noLiveStream,
  noMetrics,
  type AnyWorkflow,
  type Claim,
  type Logger,
  type QueuePort,
  type RunStatus,
} from "@ghouls/core";
import { createDirectEgress, noReleases, type ExecutionDeps, type MessageOutcome } from "@ghouls/engine";
import type { Ledger } from "@ghouls/ledger";
import { MIGRATIONS } from "../../packages/ledger/src/schema/migrations/index.ts";
import { bindSchema } from "../../packages/ledger/src/sql/statement.ts";
import { emptyDatabase, type EmptyDatabase } from "../support/empty-database.ts";
import { CLAIM } from "../support/new-run.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import { SOMEBODY, requestOf } from "../support/world.ts";
import type { Engine } from "./engines.ts";

/** A database at exactly this migration, with a clock that a test moves. */
export async function databaseAt(number: number): Promise<EmptyDatabase> {
  const db = await emptyDatabase();
  await db.migrator("create table ghouls.migrations (number integer primary key, name text not null)");
  await migrateOn(db, 0, number);
  await db.admin("create table ghouls.test_clock as select interval '0 seconds' as ahead");
  await db.admin(`alter table ghouls.test_clock owner to ${MIGRATOR.name}`);
  await db.admin(`grant select on ghouls.test_clock to ${APPLICATION.name}`);
  await db.admin(
    `create or replace function ghouls.clock() returns timestamptz language sql stable parallel safe
     as 'select statement_timestamp() + (select ahead from ghouls.test_clock)'`,
  );
  return db;
}

/** With it the application may delete: ends of children that their parents know. */
const CHILDREN = 10;
/** With it what follows an end, and checkpoints with it; bodies are emptied by functions. */
const EVIDENCE = 18;

/** Applies the migrations after one number, up to another. */
export async function migrateOn(db: EmptyDatabase, from: number, to: number): Promise<void> {
  for (const migration of MIGRATIONS.filter(({ number }) => number > from && number <= to)) {
    await db.migrator(bindSchema(migration.sql, "ghouls"));
    await db.migrator("insert into ghouls.migrations values ($1, $2)", [migration.number, migration.name]);
  }
  await db.migrator(`grant usage on schema ghouls to ${APPLICATION.name}`);
  await db.migrator(`grant select, insert, update on all tables in schema ghouls to ${APPLICATION.name}`);
  if (to >= CHILDREN) await db.migrator(`grant delete on ghouls.child_ends to ${APPLICATION.name}`);
  if (to < EVIDENCE) return;
  await db.migrator(
    `grant delete on ghouls.end_acts, ghouls.checkpoints, ghouls.repairs to ${APPLICATION.name}`,
  );
  await db.migrator(
    `grant execute on function ghouls.empty_bodies(text, uuid, integer), ghouls.empty_steps(text, uuid, integer) to ${APPLICATION.name}`,
  );
}

export async function advance(db: EmptyDatabase, seconds: number): Promise<void> {
  await db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
}

/** One engine at work on a database that others share. */
export interface Inhabitant {
  readonly number: number;
  readonly ledger: Ledger;
  submit(workflow: string, extra?: Record<string, unknown>): Promise<string>;
  /** Hands the message of a delivery to a worker. */
  deliver(runId: string, seq: number, deps?: Partial<ExecutionDeps>): Promise<MessageOutcome>;
  /** Claims a delivery for a worker that then does nothing: the test acts for it. */
  claim(runId: string, seq?: number): Promise<Claim>;
  reconcile(): Promise<unknown>;
  view(runId: string): Promise<{ status: RunStatus; steps: number; enqueueSeq: number; output: unknown }>;
  close(): Promise<void>;
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export function inhabit(
  { number, core, engine, ledger: ledgers }: Engine,
  db: EmptyDatabase,
  queue: QueuePort,
  workflows: readonly AnyWorkflow[],
): Inhabitant {
  const ledger = ledgers.openLedger({ connectionString: db.applicationUrl, chance: () => 0 });
  const registry = new engine.Registry(
    workflows.map((definition) => ({ definition, digest: `${definition.name}@1` })),
  );
  const parts = {
    ledger,
    queue,
    registry,
    codec: core.identityCodec,
    ids: { next: () => randomUUID() },
    faults: core.noFaults,
    log: silent,
  };
  const admission = engine.createAdmission({
    ...parts,
    route: undefined,
    queues: ["runs"],
    lockTimeoutMs: 500,
    announce: () => ledger.workflows.record(registry.pins(), `engine-${number}`),
  });
  const deps = {
    ...parts,
    metrics: noMetrics,
    logFor: () => silent,
    live: noLiveStream,
    // The frozen engines knew of none.
    releases: noReleases,
    clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
    // Engine 1 had none: its relay published.
    ...("Publisher" in engine ? { publisher: new engine.Publisher(parts) } : {}),
    decisionSources: {},
    queues: ["runs"],
    // The frozen engines knew of neither; their workflows want neither.
    authority: { check: () => Promise.reject(new Error("not asked")) },
    grants: { acquire: () => Promise.reject(new Error("not asked")) },
    capacities: {},
    delegation: {
      services: {},
      egress: createDirectEgress({ services: {}, origins: [] }),
      publicUrl: undefined,
      newToken: () => randomBytes(32).toString("base64url"),
    },
    draining: new AbortController().signal,
    exit: () => undefined,
    chance: () => 0,
    worker: `worker-of-${number}`,
    settings: { ...engine.DEFAULT_EXECUTION_SETTINGS, replayPatienceMs: 200 },
  } as ExecutionDeps;
  const reads = engine.createReads({ ledger, codec: core.identityCodec, registry });
  return {
    number,
    ledger,
    submit: async (workflow, extra = {}) =>
      (await admission.admit(SOMEBODY, requestOf({ workflow, input: null, ...extra }))).runId,
    deliver: async (runId, seq, overrides = {}) => {
      const message = { messageId: "m", receiptHandle: "none", body: `run:${runId}:${seq}` };
      const options = { queue: "runs", limitMs: 900_000, remainingMs: () => 900_000, endsByForce: true };
      const [outcome] = await engine.work([message], { ...deps, ...overrides }, options);
      return outcome as MessageOutcome;
    },
    claim: async (runId, seq = 1) => {
      const token = randomUUID();
      const [claimed] = await ledger.deliveries.claimIfDue([{ runId, enqueueSeq: seq, token }], {
        ...CLAIM,
        worker: deps.worker,
      });
      if (claimed === undefined) throw new Error(`engine ${number} cannot claim ${runId}`);
      return { tenantId: SOMEBODY.tenantId, runId, seq, token };
    },
    reconcile: () =>
      engine.reconcile({ ...deps, queue, pageSize: 100, pageBudgetMs: 100, remainingMs: () => 60_000 }),
    view: async (runId) => {
      const view = await reads.getRun(SOMEBODY.tenantId, runId);
      if (view === undefined) throw new Error(`engine ${number} does not see ${runId}`);
      return view;
    },
    close: () => ledger.close(),
  };
}
