import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { sourcesOf, statesOf, type PauseTarget } from "@ghouls/core";
import { testDatabase } from "../support/database.ts";
import { makeRun, statusesOf, type MadeRun, type RunOptions } from "../support/factories.ts";

const db = await testDatabase();
const ledger = db.ledger();
const WORD = { actor: "user:ada", reason: "by a test" };
const GOING_ON = sourcesOf("run", "CANCELLING");
const ENDED = statesOf("run").filter((status) => !GOING_ON.includes(status));

beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.pauses, ghouls.end_acts cascade");
});

const ALL: PauseTarget = { scope: "all", tenantId: null, workflow: null };
const TENANT: PauseTarget = { scope: "tenant", tenantId: "acme", workflow: null };
const WORKFLOW: PauseTarget = { scope: "workflow", tenantId: "acme", workflow: "hello" };
const EVERYWHERE: PauseTarget = { scope: "workflow", tenantId: null, workflow: "hello" };

const set = (target: PauseTarget) => ledger.pauses.set({ ...target, pauseId: randomUUID(), ...WORD });
const claim = async (run: MadeRun) =>
  (
    await ledger.deliveries.claimIfDue([{ runId: run.runId, enqueueSeq: run.seq, token: randomUUID() }], {
      worker: "worker-0",
      leaseSeconds: 120,
      actsForSeconds: 60,
    })
  ).length === 1;
const reasonOf = async (run: MadeRun) =>
  (await ledger.deliveries.unclaimed([{ runId: run.runId, enqueueSeq: run.seq }])).get(
    `${run.runId}:${run.seq}`,
  )?.paused;
const published = async () =>
  (await ledger.deliveries.duePublications({ limit: 100 })).found.map(({ runId }) => runId);
const audited = () => db.admin("select actor, act, subject, reason from ghouls.audit order by at");
const nextPublication = async (run: MadeRun) =>
  Number(
    (
      await db.admin(
        "select round(extract(epoch from next_publication_at - ghouls.clock())) as due_in from ghouls.deliveries where run_id = $1",
        [run.runId],
      )
    )[0]?.["due_in"],
  );

describe("a run that is paused", () => {
  test.each(GOING_ON)("as %s says by whom, since when and why, and keeps its status", async (status) => {
    const run = await makeRun(db, { status });
    expect(await ledger.runs.pause(run, WORD)).toEqual({ paused: true, status });
    const found = await ledger.runs.get(run);
    expect(found?.status).toBe(status);
    expect(found?.pause).toEqual({ by: "user:ada", reason: "by a test", at: expect.any(Date) });
    expect(await ledger.runs.pause(run, { actor: "user:bob", reason: "too" })).toEqual({
      paused: false,
      status,
    });
    expect((await ledger.runs.get(run))?.pause?.by).toBe("user:ada");
    expect(await audited()).toEqual([{ ...WORD, act: "pause", subject: "run" }]);
  });

  test.each(ENDED)("as %s is not: what was decided stands", async (status) => {
    const run = await makeRun(db, { status });
    expect(await ledger.runs.pause(run, WORD)).toEqual({ paused: false, status });
    expect((await ledger.runs.get(run))?.pause).toBeNull();
    expect(await audited()).toEqual([]);
  });

  test("by hand, without a word, is paused too", async () => {
    const run = await makeRun(db);
    await db.admin("update ghouls.runs set paused_at = ghouls.clock() where run_id = $1", [run.runId]);
    expect((await ledger.runs.get(run))?.pause).toMatchObject({ by: "unknown", reason: "" });
    expect(await claim(run)).toBe(false);
  });

  test("is neither claimed nor published, and goes on once it is unpaused", async () => {
    const run = await makeRun(db, { nextPublicationIn: -5 });
    await ledger.runs.pause(run, WORD);
    expect([await claim(run), await reasonOf(run), await published()]).toEqual([false, true, []]);
    expect(await ledger.nextLook()).toBeNull();
    await db.admin("update ghouls.deliveries set next_publication_at = ghouls.clock() + interval '1 hour'");
    const { tenantId, runId } = run;
    expect(await ledger.runs.unpause(run, WORD)).toEqual({
      unpaused: true,
      status: "QUEUED",
      resumption: { tenantId, runId, enqueueSeq: 1, queue: "runs" },
    });
    expect(await nextPublication(run)).toBe(0);
    expect(await ledger.runs.unpause(run, WORD)).toEqual({
      unpaused: false,
      status: "QUEUED",
      resumption: null,
    });
    expect((await audited()).map(({ act }) => act)).toEqual(["pause", "unpause"]);
    expect(await claim(run)).toBe(true);
  });

  test.each<[string, RunOptions, PauseTarget | undefined]>([
    ["before its start", { dueIn: 60 }, undefined],
    ["in quarantine", { quarantined: true }, undefined],
    ["while it is held", { deliveryStatus: "HELD" }, undefined],
    ["while its tenant is paused", {}, TENANT],
  ])("and is unpaused %s has nothing to publish yet", async (_what, options, target) => {
    const run = await makeRun(db, options);
    if (target !== undefined) await set(target);
    await ledger.runs.pause(run, WORD);
    expect(await ledger.runs.unpause(run, WORD)).toEqual({
      unpaused: true,
      status: "QUEUED",
      resumption: null,
    });
  });

  test.each([["COMPLETING"], ["FAILING"], ["CANCELLING"]])(
    "and comes to %s is paused no more",
    async (status) => {
      const run = await makeRun(db, { status: "RUNNING" });
      await ledger.runs.pause(run, WORD);
      const error = status === "FAILING" ? ", error_code = 'x', error_digest = 'y'" : "";
      await db.admin(`update ghouls.runs set status = '${status}'${error} where run_id = $1`, [run.runId]);
      expect((await ledger.runs.get(run))?.pause).toBeNull();
      expect(await ledger.runs.unpause(run, WORD)).toEqual({ unpaused: false, status, resumption: null });
    },
  );

  test("and cancelled ends: a pause holds no ending up", async () => {
    const run = await makeRun(db);
    await ledger.runs.pause(run, WORD);
    expect(await ledger.runs.cancel(run, WORD, 60)).toEqual({ cancelled: true, status: "CANCELLED" });
    expect((await ledger.runs.get(run))?.pause).toBeNull();
  });

  test("of another tenant, or that is none, is nothing", async () => {
    const run = await makeRun(db);
    for (const key of [
      { ...run, tenantId: "umbrella" },
      { tenantId: "acme", runId: randomUUID() },
    ]) {
      expect(await ledger.runs.pause(key, WORD)).toBeNull();
      expect(await ledger.runs.unpause(key, WORD)).toBeNull();
    }
  });
});

describe("a pause", () => {
  test.each([
    ["of all", ALL, [true, true, true]],
    ["of a tenant", TENANT, [true, true, false]],
    ["of a workflow in a tenant", WORKFLOW, [true, false, false]],
    ["of a workflow in every tenant", EVERYWHERE, [true, false, true]],
  ])("%s holds those runs, and no others, until it is lifted", async (_what, target, held) => {
    const runs = [
      await makeRun(db, { nextPublicationIn: -1 }),
      await makeRun(db, { workflow: "other", nextPublicationIn: -1 }),
      await makeRun(db, { tenantId: "umbrella", nextPublicationIn: -1 }),
    ];
    const { pause } = await set(target);
    expect(await Promise.all(runs.map(reasonOf))).toEqual(held);
    const free = runs.filter((_run, index) => held[index] === false).map(({ runId }) => runId);
    expect(new Set(await published())).toEqual(new Set(free));
    for (const [index, run] of runs.entries()) expect(await claim(run)).toBe(held[index] === false);
    await ledger.pauses.lift(pause.pauseId, WORD);
    for (const [index, run] of runs.entries()) expect(await claim(run)).toBe(held[index]);
  });

  test("keeps the reconciler no longer awake, nor does it hide what others wait for", async () => {
    await makeRun(db, { nextPublicationIn: -5 });
    const { pause } = await set(TENANT);
    expect(await ledger.nextLook()).toBeNull();
    await makeRun(db, { tenantId: "umbrella", nextPublicationIn: 600 });
    expect(Math.round((await ledger.nextLook()) ?? 0)).toBe(600);
    await ledger.pauses.lift(pause.pauseId, WORD);
    expect(Math.round((await ledger.nextLook()) ?? 0)).toBe(-5);
  });

  test("leaves contain deliveries alone: they are claimed and published", async () => {
    const run = await makeRun(db, {
      status: "FAILING",
      deliveryStatus: "PENDING",
      cause: "contain",
      nextPublicationIn: -1,
    });
    await set(ALL);
    expect(await published()).toEqual([run.runId]);
    expect(await claim(run)).toBe(true);
    expect((await ledger.deliveries.beatIfClaimed([await tokenOf(run)], 60)).get(`${run.runId}:1`)).toEqual({
      paused: false,
    });
  });

  test("is told to whoever carries a run that it holds, at its next beat", async () => {
    const runs = [
      await makeRun(db, { status: "RUNNING" }),
      await makeRun(db, { status: "RUNNING", workflow: "other" }),
    ];
    const told = async () => {
      const held = await ledger.deliveries.beatIfClaimed(runs, 60);
      return runs.map((run) => held.get(`${run.runId}:1`)?.paused);
    };
    expect(await told()).toEqual([false, false]);
    const { pause } = await set(WORKFLOW);
    expect(await told()).toEqual([true, false]);
    await ledger.pauses.lift(pause.pauseId, WORD);
    await ledger.runs.pause(runs[1]!, WORD);
    expect(await told()).toEqual([false, true]);
    expect(await statusesOf(db, runs[1]!)).toEqual({ run: "RUNNING", delivery: "CLAIMED", seq: 1 });
  });

  test("that is set twice stays as it was, and is lifted once; then it can be set anew", async () => {
    const first = await set(ALL);
    expect(first).toEqual({
      created: true,
      pause: {
        ...ALL,
        pauseId: expect.any(String),
        by: "user:ada",
        reason: "by a test",
        at: expect.any(Date),
      },
    });
    expect(await ledger.pauses.set({ ...ALL, pauseId: randomUUID(), actor: null, reason: "too" })).toEqual({
      created: false,
      pause: first.pause,
    });
    const { pauseId } = first.pause;
    expect(await ledger.pauses.lift(pauseId, WORD)).toEqual({ lifted: true, pause: first.pause });
    expect(await ledger.pauses.lift(pauseId, { actor: "x", reason: "y" })).toEqual({
      lifted: false,
      pause: first.pause,
    });
    expect(await ledger.pauses.lift(randomUUID(), WORD)).toBeNull();
    const second = await ledger.pauses.set({ ...ALL, pauseId: randomUUID(), actor: null, reason: "again" });
    expect(second).toMatchObject({
      created: true,
      pause: { by: expect.stringMatching(/^database role \w+$/) },
    });
    expect(
      await db.admin("select lifted_by, lift_reason from ghouls.pauses where lifted_at is not null"),
    ).toEqual([{ lifted_by: "user:ada", lift_reason: "by a test" }]);
  });

  test("whose answer was lost is the same one again", async () => {
    const pauseId = randomUUID();
    const made = await ledger.pauses.set({ ...TENANT, pauseId, ...WORD });
    expect(await ledger.pauses.set({ ...TENANT, pauseId, ...WORD })).toEqual(made);
  });

  test("is listed where it holds something: the tenant's own, and those of every tenant", async () => {
    for (const target of [TENANT, WORKFLOW, EVERYWHERE, { ...TENANT, tenantId: "umbrella" }, ALL])
      await set(target);
    const lifted = await set({ ...WORKFLOW, workflow: "other" });
    await ledger.pauses.lift(lifted.pause.pauseId, WORD);
    const targets = (pauses: readonly PauseTarget[]) =>
      pauses.map(({ scope, tenantId, workflow }) => ({ scope, tenantId, workflow }));
    expect(targets(await ledger.pauses.ofTenant("acme"))).toEqual([TENANT, WORKFLOW, EVERYWHERE, ALL]);
    expect(await ledger.pauses.all(10)).toHaveLength(5);
    expect(await ledger.pauses.get(lifted.pause.pauseId)).toEqual(lifted.pause);
  });

  test.each([
    ["of all that names a tenant", "('all', 'acme', null)"],
    ["of a tenant that names none", "('tenant', null, null)"],
    ["of a tenant that names a workflow", "('tenant', 'acme', 'hello')"],
    ["of a workflow that names none", "('workflow', 'acme', null)"],
    ["of something else", "('queue', null, null)"],
    ["of nobody", "('tenant', '', null)"],
  ])("%s is refused by a check", async (_what, values) => {
    const insert = `insert into ghouls.pauses (scope, tenant_id, workflow, pause_id, actor, reason, at)
      select q.*, gen_random_uuid(), 'x', 'y', ghouls.clock() from (values ${values}) as q(scope, tenant_id, workflow)`;
    await expect(db.admin(insert)).rejects.toMatchObject({ code: "23514" });
  });

  test("is lifted and not deleted or rewritten by the application", async () => {
    await set(ALL);
    const application = await db.client("application");
    for (const statement of [
      "delete from ghouls.pauses",
      "update ghouls.pauses set reason = 'another'",
      "update ghouls.pauses set actor = 'another'",
    ])
      await expect(application.query(statement)).rejects.toMatchObject({ code: "42501" });
  });
});

describe("a message that was skipped as paused is made good:", () => {
  test("its delivery is due from then on, and not before its own time", async () => {
    const [run, later, claimed] = [
      await makeRun(db, { nextPublicationIn: 3_600 }),
      await makeRun(db, { nextPublicationIn: 3_600, dueIn: 900 }),
      await makeRun(db, { status: "RUNNING" }),
    ];
    const refs = [run, later, claimed].map(({ runId }) => ({ runId, enqueueSeq: 1 }));
    expect(await ledger.deliveries.markSkippedAsPaused(refs)).toBe(2);
    expect([await nextPublication(run), await nextPublication(later)]).toEqual([0, 900]);
    expect(await ledger.deliveries.markSkippedAsPaused([])).toBe(0);
  });

  test("a mark of its publication that comes after the skip does not put it off", async () => {
    const run = await makeRun(db);
    await ledger.runs.pause(run, WORD);
    await ledger.deliveries.markSkippedAsPaused([{ runId: run.runId, enqueueSeq: 1 }]);
    await ledger.deliveries.markPublished([{ ...run, enqueueSeq: 1 }]);
    expect(await nextPublication(run)).toBe(0);
    await ledger.runs.unpause(run, WORD);
    await ledger.deliveries.markPublished([{ ...run, enqueueSeq: 1 }]);
    expect(await nextPublication(run)).toBe(120);
  });
});

test("what is paused breaks no invariant", async () => {
  for (const status of ["QUEUED", "RUNNING", "AWAITING_HARDWARE"] as const) {
    await ledger.runs.pause(await makeRun(db, { status }), WORD);
  }
  await set(ALL);
  await set(TENANT);
  expect((await ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
});

async function tokenOf(run: MadeRun): Promise<MadeRun> {
  const [row] = await db.admin<{ token: string }>("select token from ghouls.deliveries where run_id = $1", [
    run.runId,
  ]);
  return { ...run, token: row?.token ?? "" };
}
