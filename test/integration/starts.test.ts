import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "ghouls";
import { SOMEBODY, requestOf, testWorld } from "../support/world.ts";

/** Runs that start later than they are admitted, and the first `now()` of those and of what was restarted. */

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const tells = workflow({
  ...base,
  name: "tells",
  deadline: "1h",
  run: (ctx) => Promise.resolve([ctx.now(), ctx.deadline].map((time) => time?.toISOString())),
});
const naps = workflow({
  ...base,
  name: "naps",
  run: async (ctx) => {
    await ctx.sleep("1h");
    return ctx.now().toISOString();
  },
});
/** Sleeps a day in every epoch. */
const rounds = workflow({
  ...base,
  name: "rounds",
  input: z.object({ left: z.number() }),
  run: async (ctx, { left }) => {
    await ctx.sleep("1d");
    return left === 0 ? ctx.now().toISOString() : ctx.restart({ left: left - 1 });
  },
});

let lost: string | undefined;
const published: { readonly enqueueSeq: number; readonly delaySeconds?: number }[] = [];
const world = await testWorld({
  workflows: [tells, naps, rounds],
  faults: (point) => {
    if (point === lost) throw new Error("by a test");
  },
});
const send = world.queue.publish.bind(world.queue);
world.queue.publish = (publications) => {
  published.push(...publications);
  return send(publications);
};

afterEach(async () => {
  lost = undefined;
  published.length = 0;
  expect((await world.ledger.doctor()).filter(({ ok }) => !ok)).toEqual([]);
  await world.reset();
});

const seconds = (from: string | null, to: string | null) =>
  (Date.parse(to ?? "") - Date.parse(from ?? "")) / 1_000;

describe("a run that is to start in three days", () => {
  test("sends no message before, is carried then, and its time counts from there", async () => {
    const { runId, startsAt } = await world.submit("tells", null, { startAfter: "3d" });
    expect(published).toEqual([]);
    const { createdAt } = await world.view(runId);
    expect(seconds(createdAt, startsAt)).toBe(259_200);
    expect(await world.ledger.nextLook()).toBeCloseTo(259_200, -2);
    await world.advance(259_000);
    expect((await world.reconcile()).relay.repaired).toBe(0);
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ done: false, reason: "early" }]);
    await world.advance(300);
    expect((await world.reconcile()).relay.repaired).toBe(1);
    await world.drain();
    const view = await world.view(runId);
    expect(view).toMatchObject({ status: "DONE", startsAt });
    const [now, deadline] = view.output as [string, string];
    expect(now).toBe(startsAt);
    expect(seconds(now, deadline)).toBe(3_600);
  });

  test("counts its sleeps from its start", async () => {
    const { runId, startsAt } = await world.submit("naps", null, { startAfter: "3d" });
    await world.advance(259_300);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    const { waits } = await world.view(runId);
    expect(seconds(startsAt, waits[0]?.dueAt ?? null)).toBe(3_600);
    await world.advance(3_600);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("is CANCELLED at once", async () => {
    const { runId } = await world.submit("tells", null, { startAfter: "3d" });
    await world.ledger.runs.cancel({ tenantId: "acme", runId }, { actor: "user:ada", reason: "no" }, 60);
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED" });
    await world.advance(300_000);
    expect((await world.reconcile()).relay.repaired).toBe(0);
  });

  test("is the same run under its key, and another request with another start", async () => {
    const first = await world.submit("tells", null, { startAfter: "3d", key: "k" });
    const again = await world.submit("tells", null, { startAfter: "3d", key: "k" });
    expect(again).toEqual({ ...first, created: false });
    await expect(world.submit("tells", null, { startAfter: "4d", key: "k" })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    expect(published).toEqual([]);
  });

  test("that is held as well does not start sooner by its release", async () => {
    const { runId } = await world.submit("tells", null, { startAfter: "3d", held: true, holdFor: "1h" });
    await world.admission.release(SOMEBODY, runId);
    expect(published).toEqual([]);
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ reason: "early" }]);
    await world.advance(259_300);
    expect((await world.reconcile()).relay.repaired).toBe(1);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });
});

describe("a run that is to start within a quarter of an hour", () => {
  test("is sent ahead as a message that comes then; without it the relay has it a little later", async () => {
    const { runId } = await world.submit("tells", null, { startAfter: "10m" });
    expect(published).toMatchObject([{ enqueueSeq: 1, delaySeconds: 600 }]);
    expect(await world.drain()).toEqual([]);
    await world.advance(605);
    // Marked as published: the relay sends it again only after its usual delay.
    expect((await world.reconcile()).relay.repaired).toBe(0);
    await world.advance(60);
    expect((await world.reconcile()).relay.repaired).toBe(1);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("whose admission dies before it publishes is the relay's 15 s after its start", async () => {
    lost = "admission.after-commit";
    await expect(world.submit("tells", null, { startAfter: "10m" })).rejects.toThrow("by a test");
    lost = undefined;
    expect(published).toEqual([]);
    await world.advance(605);
    expect((await world.reconcile()).relay.repaired).toBe(0);
    await world.advance(15);
    expect((await world.reconcile()).relay.repaired).toBe(1);
    await world.drain();
  });

  test("and was released from a hold is sent ahead", async () => {
    const { runId } = await world.submit("tells", null, { startAfter: "10m", held: true });
    expect(published).toEqual([]);
    await world.admission.release(SOMEBODY, runId);
    expect(published).toMatchObject([{ delaySeconds: 600 }]);
  });

  test("comes by SQS's own delay", async () => {
    const { runId } = await world.submit("tells", null, { startAfter: "1s" });
    await expect
      .poll(async () => {
        await world.drain();
        return (await world.view(runId)).status;
      })
      .toBe("DONE");
  });
});

describe("a start at a moment", () => {
  test("that lies ahead is waited for", async () => {
    const [clock] = await world.db.admin<{ now: Date }>("select ghouls.clock() as now");
    const moment = new Date((clock as { now: Date }).now.getTime() + 86_400_000).toISOString();
    const { runId, startsAt } = await world.submit("tells", null, { startAfter: moment });
    expect(startsAt).toBe(moment);
    expect(published).toEqual([]);
    await world.advance(86_420);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", startsAt: moment });
  });

  test("that has passed is at once", async () => {
    const { runId, startsAt } = await world.submit("tells", null, { startAfter: "2001-01-01T00:00:00Z" });
    expect(startsAt).toBeNull();
    await world.drain();
    const { output, createdAt } = await world.view(runId);
    expect((output as string[])[0]).toBe(createdAt);
  });
});

describe("inside the caller's transaction", () => {
  test.each([
    ["3d", undefined],
    ["10m", 600],
    [undefined, "at once"],
  ])("a start after %s is published when its time has come: %s", async (startAfter, expected) => {
    const client = await world.db.client("application");
    await client.query("begin");
    const request = requestOf({ workflow: "tells", ...(startAfter === undefined ? {} : { startAfter }) });
    const receipt = await world.admission.admitIn(client, SOMEBODY, request);
    await client.query("commit");
    await world.admission.publish(receipt);
    const delays = published.map(({ delaySeconds }) => delaySeconds ?? "at once");
    expect(delays).toEqual(expected === undefined ? [] : [expected]);
  });
});

test("a run that continues as new counts its sleeps from there", async () => {
  const { runId } = await world.submit("rounds", { left: 2 });
  const { createdAt } = await world.view(runId);
  for (let day = 0; day < 3; day += 1) {
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    await world.advance(86_401);
    await world.reconcile();
  }
  await world.drain();
  const { status, output } = await world.view(runId);
  expect(status).toBe("DONE");
  expect(seconds(createdAt, output as string)).toBeGreaterThanOrEqual(259_200);
});
