import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import { retentionPass, sealsPass } from "@ghouls/engine";
import type { RetentionAges } from "@ghouls/ledger";
import * as z from "zod";
import { LONG_TURN, roundOf } from "../support/passes.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Retention empties bodies of ended runs, never digests, and nothing that somebody still needs. */

const steps = workflow({
  name: "steps",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx, input) {
    await ctx.step("one", () => ({ body: "secret one" }));
    await ctx.step("two", () => ({ body: "secret two" }));
    if (input === "fail") throw new Error("secret failure");
    return { body: "secret output" };
  },
});

const asks = workflow({
  name: "asks",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    const said = await ctx.consent("ship", {
      deciders: ["role:operator"],
      requesterMayDecide: true,
      detail: { body: "secret detail" },
    });
    const signal = await ctx.waitForSignal("go", { timeout: "1h" });
    return [said.outcome, signal.outcome];
  },
});

const parent = workflow({
  name: "parent",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    const kid = await ctx.child(steps, null);
    await ctx.sleep("10h");
    return kid.outcome;
  },
});

const world = await testWorld({ workflows: [steps, asks, parent] });
const { db, ledger } = world;
const DAY = 86_400_000;
const ages: RetentionAges = { bodiesMs: DAY, stepsMs: 2 * DAY, repairsMs: DAY };
const pass = (kept: RetentionAges = ages) => retentionPass({ ledger, retention: kept });
const seals = sealsPass({ ledger, faults: () => undefined, log: world.deps.log });
const days = (count: number) => world.advance(count * 86_400);

beforeEach(async () => {
  await world.reset();
  await db.admin("update ghouls.seal_checks set tenant_id = null, number = null, next_at = 'infinity'");
});

const sealed = async () => {
  await world.advance(61);
  await roundOf(seals);
};
const ended = async (name = "steps", input: unknown = { body: "secret input" }) => {
  const { runId } = await world.submit(name, input);
  await world.drain();
  return runId;
};

/** Every text of a run that retention is to empty. */
const bodiesOf = async (runId: string): Promise<string> => {
  const found = await db.admin(
    `select coalesce(string_agg(body, '|'), '') as bodies from (
       select concat_ws(',', input_text, output_text, error_text) as body from ghouls.runs where run_id = $1
       union all select result_text from ghouls.journal where run_id = $1
       union all select payload_text from ghouls.signals where run_id = $1
       union all select request_text from ghouls.consents where run_id = $1
       union all select comment_text from ghouls.consent_decisions where run_id = $1
       union all select concat_ws(',', request_text, report_text) from ghouls.attempts where run_id = $1) as x`,
    [runId],
  );
  return String(found[0]?.["bodies"]);
};
const copiesOf = async (runId: string) =>
  (
    await db.admin<{ body_text: string | null }>("select body_text from ghouls.evidence where run_id = $1", [
      runId,
    ])
  ).flatMap(({ body_text }) => body_text ?? []);
const digestsOf = (runId: string) =>
  db.admin(
    `select input_digest, output_digest, error_digest from ghouls.runs where run_id = $1
     union all select result_digest, stored_for::text, null from ghouls.journal where run_id = $1
     union all select body_digest, call, null from ghouls.evidence where run_id = $1
     union all select stored_digest, request_digest, null from ghouls.consents where run_id = $1
     union all select payload_digest, request_digest, null from ghouls.signals where run_id = $1
     union all select comment_digest, subject, null from ghouls.consent_decisions where run_id = $1
     order by 1, 2`,
    [runId],
  );
const textNow = async (runId: string) =>
  (await db.admin<{ text: string }>("select ghouls.terminal_text('acme', $1) as text", [runId]))[0]?.text;

describe("retention", () => {
  test("empties bodies of what ended longer ago, and no digest; the evidence agrees before and after", async () => {
    const runId = await ended();
    await sealed();
    const [text, digests] = [await textNow(runId), await digestsOf(runId)];
    expect(await roundOf(pass())).toEqual([]);
    await days(1);
    expect(await bodiesOf(runId)).toContain("secret");
    expect(await roundOf(pass())).toEqual([[`bodies ${runId}`, "repaired"]]);
    expect(await bodiesOf(runId)).not.toMatch(/\w/);
    expect(await copiesOf(runId)).toHaveLength(2);
    await days(1);
    expect(await roundOf(pass())).toEqual([[`steps ${runId}`, "repaired"]]);
    expect(await copiesOf(runId)).toEqual([]);
    expect(await digestsOf(runId)).toEqual(digests);
    expect(await textNow(runId)).toBe(text);
    expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
    expect(await roundOf(pass())).toEqual([]);
    expect(await world.broken()).toEqual([]);
  });

  test("says of a run that it was emptied, and shows null", async () => {
    const runId = await ended();
    await sealed();
    expect(await world.view(runId)).toMatchObject({
      bodiesEmptiedAt: null,
      output: { body: "secret output" },
    });
    await days(1);
    await roundOf(pass());
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      input: null,
      output: null,
      bodiesEmptiedAt: expect.stringMatching(/^20/),
    });
    expect((await world.reads.getTimeline("acme", runId))?.entries.length).toBeGreaterThan(4);
  });

  test("empties consents with their comments, and signals, and shows what is left of them", async () => {
    const runId = await ended("asks");
    const [consent] = (await world.consents.list("acme", {}, { limit: 9 })).consents;
    await world.consents.decide(SOMEBODY, consent?.consentId ?? "", {
      verdict: "grant",
      digest: consent?.digest ?? "",
      comment: "secret comment",
    });
    await world.drain();
    await world.signals.send(SOMEBODY, runId, { name: "go", payloadText: '"secret signal"' });
    await world.drain();
    expect((await world.view(runId)).output).toEqual(["GRANTED", "RECEIVED"]);
    await sealed();
    const digests = await digestsOf(runId);
    await days(1);
    await roundOf(pass());
    expect(await bodiesOf(runId)).not.toMatch(/\w/);
    expect(await digestsOf(runId)).toEqual(digests);
    expect(await world.consents.get("acme", consent?.consentId ?? "")).toMatchObject({
      status: "GRANTED",
      detail: null,
      decisions: [{ by: "user:ada", comment: null }],
    });
    expect((await world.consents.list("acme", {}, { limit: 9 })).consents).toMatchObject([{ problem: null }]);
    expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
  });

  test("leaves bodies alone where no age is configured for them", async () => {
    const runId = await ended();
    await sealed();
    await days(4_000);
    expect(await roundOf(pass({ ...ages, bodiesMs: null }))).toEqual([[`steps ${runId}`, "repaired"]]);
    expect(await roundOf(pass({ bodiesMs: null, stepsMs: null, repairsMs: null }))).toEqual([]);
    expect(await roundOf(retentionPass({ ledger }))).toEqual([]);
    expect(await bodiesOf(runId)).toContain("secret");
  });

  test("refuses a redrive of an emptied run by name", async () => {
    const runId = await ended("steps", "fail");
    await sealed();
    await days(1);
    await roundOf(pass());
    const redrive = {
      runId: crypto.randomUUID(),
      workflow: { version: 1, digest: "steps@1" },
      onWorkerLoss: "resume" as const,
      deadlineMs: null,
      requestedBy: "user:ada",
      requestedRoles: [],
      reason: "again",
    };
    expect(
      await ledger.runs.redrive({ tenantId: "acme", runId }, redrive, { publisherGraceSeconds: 15 }),
    ).toEqual({ kind: "refused", why: "body_gone", about: "its input" });
  });

  test("a run that was redriven before keeps what its redrive works with", async () => {
    const runId = await ended("steps", "fail");
    await sealed();
    const again = crypto.randomUUID();
    await ledger.runs.redrive(
      { tenantId: "acme", runId },
      {
        runId: again,
        workflow: { version: 1, digest: "steps@1" },
        onWorkerLoss: "resume",
        deadlineMs: null,
        requestedBy: "user:ada",
        requestedRoles: [],
        reason: "again",
      },
      { publisherGraceSeconds: 15 },
    );
    await days(1);
    await roundOf(pass());
    expect(await bodiesOf(runId)).not.toMatch(/\w/);
    await world.later(60);
    expect(await world.view(again)).toMatchObject({ status: "FAILED", input: "fail", steps: 2 });
  });

  test("keeps a child's result until its parent has ended", async () => {
    const { runId } = await world.submit("parent");
    await world.drain();
    const [{ run_id: kid }] = (await db.admin("select run_id from ghouls.runs where parent_run_id = $1", [
      runId,
    ])) as [{ run_id: string }];
    await sealed();
    await db.admin(
      "update ghouls.arms set due_at = ghouls.clock() + interval '9 days' where closed_at is null",
    );
    await days(1);
    expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
    expect(await roundOf(pass())).toEqual([]);
    expect(await bodiesOf(kid)).toContain("secret output");
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.later(60);
    expect(await roundOf(pass())).toEqual([[`bodies ${kid}`, "repaired"]]);
  });

  test.each<[string, (runId: string) => Promise<unknown>, (runId: string) => Promise<unknown>]>([
    [
      "a quarantined run",
      (runId) =>
        db.admin(
          "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'x' where run_id = $1",
          [runId],
        ),
      (runId) => ledger.runs.clear({ tenantId: "acme", runId }, { actor: "user:ada", reason: "seen" }, 15),
    ],
    [
      "one with a standing fault that nobody has acknowledged",
      (runId) =>
        ledger.integrity.note([
          { check: "c", tenantId: "acme", runId, subject: runId, detail: "d", foundBy: "doctor" },
        ]),
      () =>
        db.admin(
          "update ghouls.integrity_faults set acknowledged_at = ghouls.clock(), acknowledged_by = 'a', acknowledgement = 'b'",
        ),
    ],
    [
      "an unsealed one",
      (runId) =>
        db.admin(
          "insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at) values ('acme', $1, 'seal', ghouls.clock(), 'infinity')",
          [runId],
        ),
      () => db.admin("delete from ghouls.end_acts"),
    ],
    [
      "one without its record",
      (runId) => db.admin("delete from ghouls.terminal_records where run_id = $1", [runId]),
      (runId) => ledger.evidence.carryOut({ tenantId: "acme", runId }, "record"),
    ],
  ])("passes over %s, as long as it is that", async (_, becomes, is) => {
    const [runId, other] = [await ended(), await ended()];
    await sealed();
    await days(1);
    await becomes(runId);
    // A page of one: what is passed over takes no turn of the others.
    expect(await roundOf(pass(), { limit: 1 })).toEqual([[`bodies ${other}`, "repaired"]]);
    const kept = { kind: "bodies", tenantId: "acme", runId, owner: `bodies ${runId}` } as const;
    expect(await ledger.retention.empty(kept, 10, ages)).toBeNull();
    expect(await ledger.retention.empty({ ...kept, kind: "steps" }, 10, ages)).toBeNull();
    expect(await bodiesOf(runId)).toContain("secret");
    await is(runId);
    expect(await roundOf(pass(), { limit: 1 })).toEqual([[`bodies ${runId}`, "repaired"]]);
  });

  test("empties in bounded batches: the rest of a run has its turn later, and the run says it was emptied at the end", async () => {
    const runId = await ended();
    await sealed();
    await days(2);
    const due = { kind: "bodies", tenantId: "acme", runId, owner: `bodies ${runId}` } as const;
    expect(await ledger.retention.empty(due, 1, ages)).toBe(1);
    expect(await world.view(runId)).toMatchObject({
      bodiesEmptiedAt: null,
      output: { body: "secret output" },
    });
    expect(await ledger.retention.empty(due, 1, ages)).toBe(1);
    expect(await ledger.retention.empty(due, 1, ages)).toBe(0);
    expect((await world.view(runId)).bodiesEmptiedAt).not.toBeNull();
    const steps = { ...due, kind: "steps" } as const;
    expect(await ledger.retention.empty(steps, 2, ages)).toBe(2);
    expect(await ledger.retention.empty(steps, 2, ages)).toBe(0);
  });

  test("stops where its turn is over", async () => {
    const runId = await ended();
    await sealed();
    await days(1);
    await db.admin(
      `insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest, tries,
         seq, token, started_at, completed_at)
       select tenant_id, run_id, 10 + n, 0, '', 'step', 'more', n, 'ok', '1', 'd', 1, seq, token, started_at, completed_at
       from ghouls.journal, generate_series(1, 2500) as n where run_id = $1 and ordinal = 1`,
      [runId],
    );
    const short = { ...LONG_TURN, withinMs: () => 500 };
    const left = async () =>
      (await db.admin("select from ghouls.journal where run_id = $1 and result_text is not null", [runId]))
        .length;
    expect(await roundOf(pass(), { turn: short })).toEqual([[`bodies ${runId}`, "left"]]);
    expect(await left()).toBe(1_502);
    expect(await roundOf(pass())).toEqual([[`bodies ${runId}`, "repaired"]]);
    expect(await left()).toBe(0);
  });

  test("looks after owners by their names as well", async () => {
    const runId = await ended();
    await sealed();
    const owners = [`bodies ${runId}`, `steps ${runId}`, "repairs acme", `bodies ${crypto.randomUUID()}`];
    const named = async () =>
      (await pass().find({ limit: 10, owners })).found.map(({ owner }) => owner).toSorted();
    expect(await named()).toEqual(["repairs acme"]);
    await days(2);
    expect(await named()).toEqual([`bodies ${runId}`, "repairs acme", `steps ${runId}`].toSorted());
  });

  test("forgets old repairs, tenant by tenant", async () => {
    const runId = await ended();
    await db.admin(
      `insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
       select case n % 2 when 0 then 'acme' else 'umbrella' end, $1, gen_random_uuid(), 'timers', 'r', 'b', 'a', ghouls.clock()
       from generate_series(1, 2400) as n`,
      [runId],
    );
    await days(1);
    await db.admin(
      `insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
       values ('acme', $1, gen_random_uuid(), 'timers', 'young', 'b', 'a', ghouls.clock())`,
      [runId],
    );
    const outcomes = await roundOf(pass());
    expect(outcomes.filter(([owner]) => owner.startsWith("repairs")).map(([, outcome]) => outcome)).toEqual([
      "repaired",
      "repaired",
    ]);
    expect(await db.admin("select rule from ghouls.repairs where pass = 'timers'")).toEqual([
      { rule: "young" },
    ]);
  });

  test("keeps the body of no copy that comes after it has been there", async () => {
    const runId = await ended();
    await sealed();
    await days(2);
    await roundOf(pass());
    const [{ token }] = (await db.admin("select token from ghouls.deliveries where run_id = $1", [
      runId,
    ])) as [{ token: string }];
    const claim = { tenantId: "acme", runId, seq: 1, token };
    const at = new Date(0);
    await ledger.evidence.copySteps([
      {
        claim,
        ordinal: 9,
        call: "c",
        outcome: "ok",
        tries: 1,
        startedAt: at,
        completedAt: at,
        bodyText: '"secret"',
        bodyDigest: "d",
      },
    ]);
    await ledger.evidence.reject(claim, { call: "c", outcome: "ok", bodyText: '"secret"', bodyDigest: "d" });
    expect(await copiesOf(runId)).toEqual([]);
  });

  test("cannot be used to empty a run that goes on, nor to write a body: the application has no other way", async () => {
    const { runId } = await world.submit("parent");
    await world.drain();
    const client = await db.client("application");
    const { rows } = await client.query<{ emptied: number | null }>(
      "select ghouls.empty_bodies('acme', $1, 10) as emptied",
      [runId],
    );
    expect(rows).toEqual([{ emptied: null }]);
    expect((await world.view(runId)).bodiesEmptiedAt).toBeNull();
    for (const act of [
      "update ghouls.journal set result_text = null",
      "update ghouls.evidence set body_text = null",
      "update ghouls.consent_decisions set comment_text = null",
    ])
      await expect(client.query(act)).rejects.toMatchObject({ code: "42501" });
  });
});
