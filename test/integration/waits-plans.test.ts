import { beforeAll, describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { explain, type PlanValue } from "../support/plans.ts";

/** A hundred thousand runs stand in waits, of which a few are due: a pass touches these. */
const PARKED = 100_000;
const DUE = 20;

const db = await testDatabase();
const application = await db.client("application");
let one: { run_id: string; arm_id: string; consent_id: string; attempt_id: string };

beforeAll(async () => {
  await db.admin(
    `with made as (select gen_random_uuid() as id, n from generate_series(1, ${PARKED}) as n), run as (
       insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
         workflow_version, workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text,
         input_digest, created_at, started_at, generation, deadline_at)
       select 'acme', id, id, 'key-' || n, 'r', 'asks', 1, 'asks@1', 'runs', 5, 'user:ada', '{operator}', 'AWAITING_CONSENT', 1,
         '1', 'd', ghouls.clock(), ghouls.clock(), 1, ghouls.clock() + (n - ${DUE}) * interval '1 minute' + interval '30 seconds'
       from made returning tenant_id, run_id, idempotency_key
     ), delivery as (
       insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, token, claimed_by,
         claimed_at, lease_until, created_at, settled_at)
       select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'parked', 'runs', 5, ghouls.clock(), gen_random_uuid(), 'w',
         ghouls.clock(), ghouls.clock(), ghouls.clock(), ghouls.clock()
       from run returning tenant_id, run_id, seq
     ), checkpoint as (
       insert into ghouls.checkpoints select tenant_id, run_id, 1, seq, 'asks@1', 0, 'd', ghouls.clock() from delivery
     ), wait as (
       insert into ghouls.waits select tenant_id, run_id, 1, seq, ghouls.clock() from delivery
     ), arm as (
       insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, created_at)
       select d.tenant_id, d.run_id, gen_random_uuid(), 0, '', 'consent', 'ship it', 1, 'consent', 1, 1,
         ghouls.clock() + (substr(r.idempotency_key, 5)::integer - ${DUE}) * interval '1 minute' + interval '30 seconds', ghouls.clock()
       from delivery d join run r on r.run_id = d.run_id
       returning *
     )
     insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest,
       request_digest, deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
     select tenant_id, run_id, gen_random_uuid(), arm_id, 'PENDING', name, '{}', 'd', 'd', '{role:legal}', 1, false, 'expire',
       'tickets', due_at, created_at, due_at
     from arm`,
  );
  await db.admin(
    `insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, sent_by, received_at,
       consumed_at, consumed_by)
     select tenant_id, run_id, gen_random_uuid(), 'paid', 'k', 'd', 'user:ada', ghouls.clock(), ghouls.clock(), arm_id
     from ghouls.arms`,
  );
  // Each has a job at a service as well: the statements of jobs read no consent.
  await db.admin(
    `insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
       service_digest, lookup, submit, cancel, delay_seconds, request_text, stored_digest, request_digest, idempotency_key,
       token, submitter, sends_until, submissions, next_look_at, created_at)
     select tenant_id, run_id, gen_random_uuid(), arm_id, 'key', 'SUBMITTING', 'signer', 'http', '1', 'd', 'authoritative',
       'idempotent', 'final', 5, '{}', 'd', 'd', arm_id::text, gen_random_uuid(), 'worker-' || arm_id, due_at, 1, due_at, created_at
     from ghouls.arms`,
  );
  await db.admin(
    "analyze ghouls.runs, ghouls.deliveries, ghouls.checkpoints, ghouls.waits, ghouls.arms, ghouls.consents, ghouls.signals, ghouls.attempts",
  );
  [one] = (await db.admin(
    `select a.run_id, a.arm_id, c.consent_id, t.attempt_id from ghouls.arms a join ghouls.consents c on c.arm_id = a.arm_id
       join ghouls.attempts t on t.arm_id = a.arm_id limit 1`,
  )) as [typeof one];
});

const BEFORE = ["0", "00000000-0000-0000-0000-000000000000"] as const;
/** The end of a round that has begun a while ago. */
const UNTIL = new Date(Date.now() - 1_000).toISOString();
const claim = () => ["acme", one.run_id, 1, one.arm_id];

interface Case {
  readonly name: string;
  readonly values: () => PlanValue[];
  /** The most rows that a node may look at. */
  readonly rows: number;
}

const cases: readonly Case[] = [
  { name: "arms.due", rows: DUE + 2, values: () => [100, ...BEFORE, null] },
  { name: "arms.due", rows: DUE + 2, values: () => [100, ...BEFORE, UNTIL] },
  { name: "arms.due-named", rows: 2, values: () => [20, [one.run_id]] },
  { name: "runs.overdue", rows: DUE + 2, values: () => [100, ...BEFORE, UNTIL] },
  { name: "runs.overdue-named", rows: 2, values: () => [20, [one.run_id]] },
  { name: "consents.to-look-up", rows: DUE + 2, values: () => [100, ...BEFORE, UNTIL] },
  { name: "consents.to-look-up-named", rows: 2, values: () => [20, [one.consent_id]] },
  { name: "attempts.due", rows: DUE + 2, values: () => [100, ...BEFORE, UNTIL] },
  { name: "attempts.due-named", rows: 2, values: () => [20, [one.attempt_id]] },
  { name: "arms.run-of-arm", rows: 1, values: () => [one.arm_id] },
  { name: "arms.of-run", rows: 1, values: () => ["acme", one.run_id] },
  { name: "arms.facts", rows: 1, values: () => ["acme", one.run_id] },
  { name: "arms.retries", rows: 1, values: () => ["acme", one.run_id, 0] },
  { name: "arms.close", rows: 1, values: () => ["acme", one.run_id, 1, one.arm_id, null, "{}", "d", 2] },
  { name: "arms.close-steps", rows: 1, values: () => ["acme", one.run_id, 2] },
  { name: "runs.resume", rows: 1, values: () => ["acme", one.run_id, one.arm_id, 15] },
  { name: "runs.overdue", rows: DUE + 2, values: () => [100, ...BEFORE, null] },
  { name: "runs.fail-overdue", rows: 2, values: () => ["acme", one.run_id, "{}", "d", 60] },
  { name: "runs.clear-quarantine", rows: 1, values: () => ["acme", one.run_id] },
  { name: "deliveries.parked", rows: 1, values: () => claim() },
  {
    name: "consents.inbox",
    rows: 5_000,
    values: () => ["acme", 51, "user:grace", ["user:grace", "role:legal"], null, null, 1_000],
  },
  {
    name: "consents.inbox",
    rows: 5_000,
    values: () => ["acme", 51, "user:grace", ["user:grace"], null, null, 1_000],
  },
  { name: "consents.read", rows: 1, values: () => ["acme", one.consent_id] },
  { name: "consents.lock", rows: 1, values: () => ["acme", one.run_id, one.consent_id] },
  { name: "consents.decisions", rows: 1, values: () => ["acme", one.run_id, one.consent_id] },
  { name: "consents.expire", rows: 1, values: () => ["acme", one.run_id] },
  { name: "consents.to-look-up", rows: DUE + 2, values: () => [100, ...BEFORE, null] },
  { name: "consents.looked-up", rows: 1, values: () => ["acme", one.run_id, one.consent_id, 30, 0] },
  {
    name: "consents.decide",
    rows: 1,
    values: () => ["acme", one.run_id, one.consent_id, "user:grace", "grant", null, null, "GRANTED"],
  },
  { name: "attempts.read", rows: 1, values: () => ["acme", one.attempt_id] },
  { name: "attempts.read-for-callback", rows: 1, values: () => [one.attempt_id] },
  { name: "attempts.lock", rows: 1, values: () => ["acme", one.run_id, one.attempt_id] },
  { name: "attempts.due", rows: DUE + 2, values: () => [100, ...BEFORE, null] },
  { name: "attempts.defined-of-run", rows: 1, values: () => ["acme", one.run_id] },
  { name: "attempts.page", rows: 52, values: () => ["acme", 51, null, null, null, null] },
  { name: "attempts.cancel", rows: 1, values: () => ["acme", one.run_id, one.attempt_id, "ended"] },
  {
    name: "attempts.calm",
    rows: 1,
    values: () => ["acme", one.run_id, "attempt_uncertain:", "%s %s %s", "%s %s %s", 3],
  },
  { name: "attempts.contradict", rows: 1, values: () => ["acme", one.run_id, one.attempt_id, "w", "w"] },
  {
    name: "attempts.close-item",
    rows: 1,
    values: () => ["acme", one.run_id, one.attempt_id, "service", "w"],
  },
  { name: "attempts.submitter-ended", rows: 1, values: () => [`worker-${one.arm_id}`, 60] },
  {
    name: "attempts.change",
    rows: 1,
    values: () => [
      "acme",
      one.run_id,
      one.attempt_id,
      "RUNNING",
      null,
      null,
      null,
      true,
      30,
      false,
      null,
      false,
      "service",
      null,
      false,
      false,
    ],
  },
  {
    name: "attempts.claim-submission",
    rows: 1,
    values: () => ["acme", one.run_id, one.attempt_id, "DEFINED", null, one.arm_id, "w", 60, null, 60, 30],
  },
  { name: "signals.buffered", rows: 1, values: () => ["acme", one.run_id, "paid"] },
  { name: "signals.by-key", rows: 1, values: () => ["acme", one.run_id, "k", one.arm_id] },
];

describe.each(["force_generic_plan", "force_custom_plan"] as const)(
  "beside 100,000 parked runs, with %s,",
  (mode) => {
    test.each(cases)("$name reads by index, and no more than it has to", async ({ name, values, rows }) => {
      const plan = await explain(application, STATEMENTS.get(name)?.text ?? "", values(), mode);
      expect(plan.scans.filter((scan) => scan.endsWith("in full"))).toEqual([]);
      expect(plan.rows, plan.scans.join(", ")).toBeLessThanOrEqual(rows);
    });
  },
);
