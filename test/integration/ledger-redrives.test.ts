import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sha256, type FaultInjector } from "@ghouls/core";
import type { NewRedrive } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeJournal, makeRun, type MadeRun } from "../support/factories.ts";

const db = await testDatabase();
let fault: FaultInjector = () => undefined;
const ledger = db.ledger({ faults: (point, detail) => fault(point, detail) });
const GRACE = { publisherGraceSeconds: 15 };

beforeEach(() => {
  fault = () => undefined;
});

const asked = (options: Partial<NewRedrive> = {}): NewRedrive => ({
  runId: randomUUID(),
  workflow: { version: 1, digest: "hello@1" },
  onWorkerLoss: "resume",
  deadlineMs: null,
  requestedBy: "user:grace",
  requestedRoles: ["operator", "legal"],
  reason: "mended",
  ...options,
});
const redrive = (run: MadeRun, options: Partial<NewRedrive> = {}) =>
  ledger.runs.redrive(run, asked(options), GRACE);

/** An ended run with a journal of steps. */
async function ended(
  status: "FAILED" | "CANCELLED",
  steps: Parameters<typeof makeJournal>[2],
  also = "epoch = 0",
): Promise<MadeRun> {
  const run = await makeRun(db, { status: "RUNNING", deliveryStatus: "SETTLED" });
  await makeJournal(db, run, steps);
  await db.admin(
    `update ghouls.runs set ${also}, status = $2, finished_at = ghouls.clock(),
       error_code = case when $2 = 'FAILED' then 'step_failed' end, error_digest = case when $2 = 'FAILED' then 'd' end
     where run_id = $1`,
    [run.runId, status],
  );
  return run;
}

/** A run that failed behind its second step, and went on. */
async function failed(): Promise<MadeRun> {
  const run = await ended("FAILED", ["one", ["two", undefined], "three", "four"]);
  await db.admin("update ghouls.journal set outcome = 'error' where run_id = $1 and name = 'three'", [
    run.runId,
  ]);
  return run;
}

const CALL = "(tenant_id, run_id, epoch, scope, kind, name, nth";
const intend = (run: MadeRun, name: string, outcome: string | null) =>
  db.admin(
    `insert into ghouls.intents ${CALL}, number, seq, token, started_at, outcome, outcome_at)
     values ($1, $2, 0, '', 'step', $3, 1, 1, 1, $4, ghouls.clock(), $5, case when $5::text is not null then ghouls.clock() end)`,
    [run.tenantId, run.runId, name, run.token, outcome],
  );
const acknowledge = (run: MadeRun, name: string, by: string, words: string) =>
  db.admin(
    `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at, acknowledged_at,
       acknowledged_by, acknowledgement)
     values ($1, $2, 'effect', json_build_array(0, '', 'step', $3::text, 1)::text, 1, $4, 'w', ghouls.clock(), ghouls.clock(),
       ghouls.clock(), $5, $6)`,
    [run.tenantId, run.runId, name, run.token, by, words],
  );
async function arm(run: MadeRun, owner: "delegate" | "child", name: string): Promise<string> {
  const armId = randomUUID();
  await db.admin(
    `insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at, closed_at,
       closing)
     values ($1, $2, $3, 0, '', $4, $5, 1, $4, 1, 1, ghouls.clock(), ghouls.clock(), 'ended')`,
    [run.tenantId, run.runId, armId, owner, name],
  );
  return armId;
}
async function job(run: MadeRun, status: string, closedBy: string, contradiction: string | null = null) {
  const armId = await arm(run, "delegate", "sign");
  const final = ["SUCCEEDED", "FAILED", "CANCELLED"].includes(status);
  await db.admin(
    `insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
       service_digest, lookup, submit, cancel, delay_seconds, request_text, stored_digest, request_digest, idempotency_key, token,
       submitter, sends_until, submissions, uncertain_reason, report_digest, contradiction, created_at, closed_at, closed_by, next_look_at)
     values ($1, $2, $3, $4, 'k', $5, 's', 'a', '1', 'd', 'none', 'once', 'none', 0, '{}', 'd', 'd', gen_random_uuid()::text, gen_random_uuid(), 'w',
       ghouls.clock(), 1, case when $5 = 'UNCERTAIN' then 'x' end, case when $5 in ('SUCCEEDED', 'FAILED') then 'd' end, $6,
       ghouls.clock(), case when $7 then ghouls.clock() end, case when $7 then $8 end, case when not $7 then ghouls.clock() end)`,
    [run.tenantId, run.runId, randomUUID(), armId, status, contradiction, final, closedBy],
  );
}
async function childOf(run: MadeRun, status: "RUNNING" | "DONE" | "FAILED"): Promise<MadeRun> {
  const child = await makeRun(db, { status: "QUEUED" });
  const armId = await arm(run, "child", "part");
  await db.admin(
    `update ghouls.runs set parent_run_id = $2, parent_arm_id = $3, parent_close = 'abandon', started_at = ghouls.clock(), status = $4,
       error_code = case when $4 = 'FAILED' then 'workflow_failed' end, error_digest = case when $4 = 'FAILED' then 'd' end,
       finished_at = case when $4 <> 'RUNNING' then ghouls.clock() end
     where run_id = $1`,
    [child.runId, run.runId, armId, status],
  );
  return child;
}

test("copies the journal up to the first failure, as it is stored, with a first delivery and who asks", async () => {
  const run = await failed();
  const request = asked({ deadlineMs: 60_000 });
  expect(await ledger.runs.redrive(run, request, GRACE)).toEqual({
    kind: "redriven",
    enqueueSeq: 1,
    queue: "runs",
    cut: { kind: "cut", ordinal: 3, entries: 2, call: { kind: "step", name: "three" } },
  });
  const again = { tenantId: run.tenantId, runId: request.runId };
  const whole = ["ordinal", "name", "resultText", "resultDigest", "token", "completedAt"] as const;
  const shown = async (key: typeof again) =>
    (await ledger.journal.read(key)).map((entry) => whole.map((name) => entry[name]));
  expect(await shown(again)).toEqual((await shown(run)).slice(0, 2));
  expect((await ledger.journal.read(again)).map(({ seq, storedFor }) => [seq, storedFor])).toEqual([
    [1, run.runId],
    [1, run.runId],
  ]);
  expect(await ledger.runs.get(again)).toMatchObject({
    status: "QUEUED",
    redriveOf: run.runId,
    requestedBy: "user:grace",
    inputStoredFor: run.runId,
    inputDigest: sha256("null"),
    journalLength: 2,
  });
  const [row] = await db.admin(
    "select first_run_id, requested_roles, journal_bytes::integer as bytes from ghouls.runs where run_id = $1",
    [request.runId],
  );
  expect(row).toEqual({ first_run_id: run.runId, requested_roles: ["operator", "legal"], bytes: 5 });
  expect((await ledger.runs.get(run))?.redrivenAs).toBe(request.runId);
  const due = await ledger.deliveries.claimIfDue(
    [{ runId: request.runId, enqueueSeq: 1, token: randomUUID() }],
    { worker: "w", leaseSeconds: 60, actsForSeconds: 60 },
  );
  expect(due).toMatchObject([
    { firstRunId: run.runId, inputStoredFor: run.runId, epoch: 0, journalStart: 0 },
  ]);
  expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
});

test("keeps the whole journal where no call failed, and that of its own epoch alone", async () => {
  const run = await ended("CANCELLED", ["before", "one"], "epoch = 1, journal_start = 1");
  await db.admin("update ghouls.journal set epoch = 1 where ordinal = 2");
  const request = asked();
  expect(await ledger.runs.redrive(run, request, GRACE)).toMatchObject({ cut: { entries: 1, call: null } });
  const kept = await ledger.journal.read({ tenantId: run.tenantId, runId: request.runId });
  expect(kept).toMatchObject([{ ordinal: 1, epoch: 1, name: "one" }]);
});

describe("is refused", () => {
  type Make = () => Promise<MadeRun>;
  const with_ = (act: (run: MadeRun) => Promise<unknown>) => async () => {
    const run = await failed();
    await act(run);
    return run;
  };
  const cases: readonly (readonly [string, string, string | null, Make])[] = [
    ["a run that is done", "not_ended", "DONE", () => makeRun(db, { status: "DONE" })],
    ["a run that goes on", "not_ended", "RUNNING", () => makeRun(db, { status: "RUNNING" })],
    ["a run that is ending", "not_ended", "FAILING", () => makeRun(db, { status: "FAILING" })],
    ["a quarantined run", "quarantined", null, () => makeRun(db, { status: "FAILED", quarantined: true })],
    ["a child", "child_run", "its parent", async () => childOf(await failed(), "FAILED")],
    ["a child that goes on", "child_open", "its child", with_((run) => childOf(run, "RUNNING"))],
    ["an effect without an outcome", "effect_unknown", "pay", with_((run) => intend(run, "pay", null))],
    [
      "an effect that a person has settled",
      "effect_unknown",
      "pay",
      with_(async (run) => {
        await intend(run, "pay", "resolved");
        await acknowledge(run, "pay", "operator", "it has happened");
      }),
    ],
    [
      "an effect whose probe saw it, outside of the journal",
      "done_behind",
      "pay",
      with_(async (run) => {
        await intend(run, "pay", "resolved");
        await acknowledge(run, "pay", "probe", "it has happened");
      }),
    ],
    ["an effect behind the cut", "done_behind", "four", with_((run) => intend(run, "four", "happened"))],
    [
      "a transaction behind the cut",
      "done_behind",
      "four",
      with_((run) =>
        db.admin("update ghouls.journal set kind = 'transaction' where run_id = $1 and name = 'four'", [
          run.runId,
        ]),
      ),
    ],
    ["a job that is UNCERTAIN", "job_unknown", "sign", with_((run) => job(run, "UNCERTAIN", ""))],
    [
      "a job that a person has ended",
      "job_unknown",
      "sign",
      with_((run) => job(run, "FAILED", "operator ada")),
    ],
    ["a job by an item's word", "job_unknown", "sign", with_((run) => job(run, "CANCELLED", "operator"))],
    [
      "a job whose service contradicts itself",
      "job_unknown",
      "sign",
      with_((run) => job(run, "FAILED", "service", "it succeeded")),
    ],
    [
      "a job that is done, outside of the journal",
      "done_behind",
      "sign",
      with_((run) => job(run, "SUCCEEDED", "service")),
    ],
    [
      "a child that is done, outside of the journal",
      "done_behind",
      "part",
      with_((run) => childOf(run, "DONE")),
    ],
    [
      "a failed child with an effect that happened",
      "done_behind",
      "part",
      with_(async (run) => intend(await childOf(run, "FAILED"), "pay", "happened")),
    ],
    [
      "a failed child with a child of its own",
      "done_behind",
      "part",
      with_(async (run) => childOf(await childOf(run, "FAILED"), "FAILED")),
    ],
    [
      "an emptied result before the cut",
      "body_gone",
      "its journal",
      with_((run) =>
        db.admin("update ghouls.journal set result_text = null where run_id = $1 and name = 'one'", [
          run.runId,
        ]),
      ),
    ],
    [
      "a missing entry before the cut",
      "body_gone",
      "its journal",
      with_((run) => db.admin("delete from ghouls.journal where run_id = $1 and name = 'two'", [run.runId])),
    ],
    [
      "an emptied input",
      "body_gone",
      "its input",
      with_((run) => db.admin("update ghouls.runs set input_text = null where run_id = $1", [run.runId])),
    ],
  ];

  test.each(cases)("%s: %s", async (_, why, about, make) => {
    const run = await make();
    const answer = await redrive(run);
    expect(answer).toMatchObject({ kind: "refused", why });
    if (about === null || !about.startsWith("its ") || why === "body_gone")
      expect(answer).toMatchObject({ about });
    expect(await db.admin("select from ghouls.runs where redrive_of = $1", [run.runId])).toEqual([]);
    expect(await db.admin("select from ghouls.audit where run_id = $1", [run.runId])).toEqual([]);
  });

  test("nothing that is certain: what did not happen, and jobs and children that failed", async () => {
    const run = await failed();
    await intend(run, "one", "happened");
    await intend(run, "three", "failed");
    await intend(run, "pay", "resolved");
    await acknowledge(run, "pay", "probe", "it has not happened, and cannot any more");
    await job(run, "FAILED", "service");
    await childOf(run, "FAILED");
    expect(await redrive(run)).toMatchObject({ kind: "redriven" });
    const intents = await db.admin(
      "select from ghouls.intents i join ghouls.runs r using (run_id) where r.redrive_of = $1",
      [run.runId],
    );
    expect(intents).toEqual([]);
  });

  test("another tenant's run, as if it were not there", async () => {
    const run = await failed();
    expect(await redrive({ ...run, tenantId: "other" })).toBeNull();
  });
});

test.each([
  ["a job", "delegate", (run: MadeRun) => job(run, "FAILED", "service")],
  ["a child", "child", (run: MadeRun) => childOf(run, "FAILED")],
])("is cut before %s that failed, though its wait was journaled", async (_, kind, act) => {
  const run = await ended("FAILED", ["one", kind === "child" ? "part" : "sign", "after"]);
  await db.admin("update ghouls.journal set kind = $2 where run_id = $1 and name in ('part', 'sign')", [
    run.runId,
    kind,
  ]);
  await act(run);
  expect(await redrive(run)).toMatchObject({ cut: { entries: 1, call: { kind } } });
});

test("is cut before units that were not to be had", async () => {
  const run = await ended("FAILED", ["one", ["gpu", { outcome: "UNAVAILABLE" }]]);
  await db.admin("update ghouls.journal set kind = 'reserve' where run_id = $1 and name = 'gpu'", [
    run.runId,
  ]);
  expect(await redrive(run)).toMatchObject({ cut: { entries: 1, call: { kind: "reserve", name: "gpu" } } });
});

describe("a process that is lost", () => {
  beforeAll(async () => {
    await db.admin("truncate ghouls.runs cascade");
  });
  const points = [
    ["ledger.before-statement", "runs.lock"],
    ["ledger.after-statement", "runs.lock"],
    ["ledger.before-statement", "redrives.judge"],
    ["ledger.after-statement", "redrives.judge"],
    ["ledger.before-statement", "redrives.make"],
    ["ledger.after-statement", "redrives.make"],
    ["ledger.before-statement", "audit.record"],
    ["ledger.after-statement", "audit.record"],
    ["ledger.before-commit", "redrives.make"],
    ["ledger.after-commit", "redrives.make"],
  ] as const;
  test.each(points)(
    "%s of %s leaves all of it or nothing, and the same word again makes it whole",
    async (at, of) => {
      const run = await failed();
      fault = (point, detail) => {
        if (point === at && detail === of) throw new Error("Connection terminated unexpectedly");
      };
      const request = asked();
      await expect(ledger.runs.redrive(run, request, GRACE)).rejects.toThrow();
      fault = () => undefined;
      const count = async () => {
        const [row] = await db.admin<{ runs: number; deliveries: number; entries: number; words: number }>(
          `select (select count(*)::integer from ghouls.runs where redrive_of = $1) as runs,
           (select count(*)::integer from ghouls.deliveries join ghouls.runs r using (run_id) where r.redrive_of = $1) as deliveries,
           (select count(*)::integer from ghouls.journal join ghouls.runs r using (run_id) where r.redrive_of = $1) as entries,
           (select count(*)::integer from ghouls.audit where run_id = $1) as words`,
          [run.runId],
        );
        return row;
      };
      const whole = at === "ledger.after-commit";
      const all = { runs: 1, deliveries: 1, entries: 2, words: 1 };
      expect(await count()).toEqual(whole ? all : { runs: 0, deliveries: 0, entries: 0, words: 0 });
      expect(await redrive(run)).toMatchObject(
        whole ? { kind: "redriven_before", runId: request.runId, sameWord: true } : { kind: "redriven" },
      );
      expect(await count()).toEqual(all);
      expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
    },
  );
});
