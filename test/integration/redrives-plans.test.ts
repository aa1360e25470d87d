import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { explain, type PlanValue } from "../support/plans.ts";

/** Among many ended runs, each with what it did, a redrive looks at its own. */

const db = await testDatabase();
const application = await db.client("application");
const RUNS = 3_000;
let run: { run_id: string; token: string };
let again: { run_id: string; token: string };

beforeAll(async () => {
  await db.admin(
    `with made as (select gen_random_uuid() as id, n from generate_series(1, ${RUNS}) as n), run as (
       insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest, queue,
         priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, error_code, error_digest, created_at,
         started_at, finished_at, journal_length)
       select 'acme', id, id, 'r', 'hello', 1, 'hello@1', 'runs', 5, 'user:ada', '{operator}', 'FAILED', 1, '1', 'd', 'step_failed', 'd',
         ghouls.clock(), ghouls.clock(), ghouls.clock(), 3
       from made returning tenant_id, run_id, queue, priority
     ), delivery as (
       insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, token, claimed_by,
         claimed_at, lease_until, created_at, settled_at)
       select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'failed', queue, priority, ghouls.clock(), gen_random_uuid(), 'worker-0',
         ghouls.clock(), ghouls.clock(), ghouls.clock(), ghouls.clock()
       from run returning tenant_id, run_id, seq, token
     ), entry as (
       insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
         completed_at)
       select tenant_id, run_id, n, 0, '', 'step', 's' || n, 1, case when n = 3 then 'error' else 'ok' end, 1, seq, token, ghouls.clock(),
         ghouls.clock()
       from delivery, generate_series(1, 3) as n
     ), intent as (
       insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at, outcome, outcome_at)
       select tenant_id, run_id, 0, '', 'step', 's' || n, 1, 1, seq, token, ghouls.clock(), 'happened', ghouls.clock()
       from delivery, generate_series(1, 2) as n
     ), item as (
       insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at, acknowledged_at,
         acknowledged_by, acknowledgement)
       select tenant_id, run_id, 'worker', '1', 1, token, 'w', ghouls.clock(), ghouls.clock(), ghouls.clock(), 'time', 'x' from delivery
     ), arm as (
       insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at, closed_at,
         closing)
       select tenant_id, run_id, gen_random_uuid(), 0, '', 'delegate', 'sign', 1, 'delegate', 1, 1, ghouls.clock(), ghouls.clock(), 'fact'
       from delivery returning tenant_id, run_id, arm_id
     )
     insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
       service_digest, lookup, submit, cancel, delay_seconds, request_text, stored_digest, request_digest, idempotency_key,
       created_at, closed_at, closed_by)
     select tenant_id, run_id, arm_id, arm_id, 'k', 'CANCELLED', 's', 'a', '1', 'd', 'none', 'once', 'none', 0, '{}', 'd', 'd',
       arm_id::text, ghouls.clock(), ghouls.clock(), 'the end of its run'
     from arm`,
  );
  [run] = (await db.admin("select run_id, token from ghouls.deliveries limit 1")) as [typeof run];
  await db.admin(
    `insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
     select tenant_id, run_id, gen_random_uuid(), 'user:ada', 'resolve', 'x', 'y', ghouls.clock() from ghouls.runs`,
  );
  again = { run_id: randomUUID(), token: randomUUID() };
  const ledger = db.ledger();
  await ledger.runs.redrive(
    { tenantId: "acme", runId: run.run_id },
    {
      runId: again.run_id,
      workflow: { version: 1, digest: "hello@1" },
      onWorkerLoss: "resume",
      deadlineMs: null,
      requestedBy: "user:ada",
      requestedRoles: [],
      reason: "x",
    },
    { publisherGraceSeconds: 15 },
  );
  const claim = { runId: again.run_id, enqueueSeq: 1, token: again.token };
  await ledger.deliveries.claimIfDue([claim], { worker: "w", leaseSeconds: 60, actsForSeconds: 60 });
  await db.admin(
    "analyze ghouls.runs, ghouls.deliveries, ghouls.journal, ghouls.intents, ghouls.arms, ghouls.attempts, ghouls.containment_items, ghouls.audit",
  );
});

/** The claim, the arm and the call. */
const callOf = (name: string) => ["acme", again.run_id, 1, again.token, randomUUID(), 0, "", name, 1];
const CHILD = ["runs", 5, "null", "d", 1_000, "resume", "cancel", 15];

describe.each(["force_generic_plan", "force_custom_plan"] as const)("with %s", (mode) => {
  test.each<[string, () => readonly PlanValue[]]>([
    ["redrives.judge", () => ["acme", run.run_id, "{}", "user:ada", "x"]],
    ["runs.get", () => ["acme", again.run_id]],
    ["children.start", () => [...callOf("child"), randomUUID(), "r", "child", 1, "d", ...CHILD]],
  ])("%s reads by index, and no more than its run", async (name, values) => {
    const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values(), mode);
    expect(plan.scans.filter((scan) => scan.endsWith("in full"))).toEqual([]);
    expect(plan.rows, plan.scans.join(", ")).toBeLessThanOrEqual(10);
  });
});
