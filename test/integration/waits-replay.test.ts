import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Principal } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

const GRACE: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

/** Steps end when the test says so. */
let running = new Map<string, () => void>();
let calls: string[] = [];
const ends = (name: string) => () =>
  new Promise<string>((resolve) => {
    calls.push(name);
    running.set(name, () => resolve(name));
  });

const chains = workflow({
  ...base,
  name: "chains",
  run: async (ctx) => {
    const chain = async (letter: string) => {
      const done: string[] = [];
      for (const n of [1, 2, 3]) done.push(await ctx.step(`${letter}${n}`, ends(`${letter}${n}`)));
      return done.join("");
    };
    return Promise.all([chain("a"), chain("b")]);
  },
});
const twenty = workflow({
  ...base,
  name: "twenty",
  run: async (ctx) => {
    for (let n = 1; n <= 20; n += 1) await ctx.consent(`consent ${n}`, { deciders: ["user:grace"] });
    return "all";
  },
});
const asks = workflow({
  ...base,
  name: "asks",
  run: async (ctx) => (await ctx.consent("ship it", { deciders: ["user:grace"] })).outcome,
});

let crashAfter = Number.POSITIVE_INFINITY;
let journaled = 0;
const world = await testWorld({
  workflows: [chains, twenty, asks],
  settings: { maxLosses: 100 },
  faults: (point) => {
    if (point !== "worker.after-journal") return;
    journaled += 1;
    if (journaled > crashAfter) throw new Error("the process is gone");
  },
});
const { db } = world;
beforeEach(() => {
  running = new Map();
  calls = [];
  journaled = 0;
  crashAfter = Number.POSITIVE_INFINITY;
});
afterEach(() => world.reset());

/** All ways to take three of one chain and three of the other, each in its own order. */
function interleavings(a: readonly string[], b: readonly string[]): string[][] {
  if (a.length === 0) return [[...b]];
  if (b.length === 0) return [[...a]];
  return [
    ...interleavings(a.slice(1), b).map((rest) => [a[0] as string, ...rest]),
    ...interleavings(a, b.slice(1)).map((rest) => [b[0] as string, ...rest]),
  ];
}

/** Lets the steps end in this order, each once it runs. */
async function endInOrder(order: readonly string[]): Promise<void> {
  for (const name of order) {
    await expect
      .poll(() => running.has(name) || journaled > crashAfter, { interval: 1, timeout: 60_000 })
      .toBe(true);
    if (journaled > crashAfter) break;
    const before = journaled;
    running.get(name)?.();
    await expect.poll(() => journaled, { interval: 1, timeout: 60_000 }).toBeGreaterThan(before);
  }
  // What is still in flight where the process "is gone" ends too: its results are nobody's.
  for (const end of running.values()) end();
}

describe("two chains of three steps each", () => {
  test.each(
    interleavings(["a1", "a2", "a3"], ["b1", "b2", "b3"]).map((order) => [order.join(" "), order] as const),
  )("that end in the order %s replay cleanly from every crash point", async (_, order) => {
    for (const at of [1, 2, 3, 4, 5]) {
      running = new Map();
      journaled = 0;
      crashAfter = at - 1;
      const { runId } = await world.submit("chains", {});
      const first = world.deliver([`run:${runId}:1`]);
      await endInOrder(order);
      expect((await first)[0]).toMatchObject({ done: false, reason: "unknown_outcome" });
      crashAfter = Number.POSITIVE_INFINITY;
      running = new Map();
      await world.advance(1_000);
      await world.reconcile();
      const kept = order.slice(0, at);
      const second = world.deliver([`run:${runId}:2`]);
      await endInOrder(order.slice(at));
      await second;
      const view = await world.view(runId);
      expect(view, view.error?.message).toMatchObject({ status: "DONE", output: ["a1a2a3", "b1b2b3"] });
      const journal = await world.ledger.journal.read({ tenantId: "acme", runId });
      expect(journal.map(({ name }) => name)).toEqual([...kept, ...order.slice(at)]);
    }
  });
});

test("twenty consents use up no losses, and each brings the run back once", async () => {
  const { runId } = await world.submit("twenty", {});
  for (let n = 1; n <= 20; n += 1) {
    await world.drain();
    const { consents } = await world.consents.list("acme", { runId, status: "PENDING" }, { limit: 5 });
    expect(consents.map(({ title }) => title)).toEqual([`consent ${n}`]);
    const [consent] = consents;
    await world.consents.decide(GRACE, consent?.consentId ?? "", {
      verdict: "grant",
      digest: consent?.digest ?? "",
    });
  }
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "all", enqueueSeq: 21 });
  const [row] = await db.admin("select losses from ghouls.runs where run_id = $1", [runId]);
  expect(row).toEqual({ losses: 0 });
});

test("a run that is parked for ten times its lease is touched by no pass", async () => {
  const { runId } = await world.submit("asks", {});
  await world.drain();
  const rowOf = () =>
    db.admin("select run.*, d.* from ghouls.runs run join ghouls.deliveries d using (run_id)");
  const before = await rowOf();
  await world.advance(10 * 1_200);
  const report = await world.reconcile();
  expect(report).toMatchObject({
    reanimation: { found: 0 },
    timers: { found: 0 },
    deadlines: { found: 0 },
    relay: { found: 0 },
  });
  expect(await rowOf()).toEqual(before);
  expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
});

describe("what a parked run left is checked when it comes back:", () => {
  const tamper: Readonly<Record<string, string>> = {
    "a checkpoint that is missing": "delete from ghouls.checkpoints where run_id = $1",
    "a checkpoint that is altered":
      "update ghouls.checkpoints set journal_digest = 'other' where run_id = $1",
    "a journal entry that is altered": `update ghouls.journal set result_text = '{"outcome":"GRANTED"}' where run_id = $1`,
    "a journal entry that is missing": "delete from ghouls.journal where run_id = $1",
  };

  test.each(Object.keys(tamper))(
    "%s quarantines it, and nothing starts over; clear with a reason lets it try again",
    async (what) => {
      const { runId } = await world.submit("asks", {});
      await world.drain();
      const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
      const consent = consents[0] as (typeof consents)[number];
      await world.consents.decide(GRACE, consent.consentId, { verdict: "grant", digest: consent.digest });
      const kept = await db.admin("select * from ghouls.journal where run_id = $1", [runId]);
      const points = await db.admin("select * from ghouls.checkpoints where run_id = $1", [runId]);
      await db.admin(tamper[what] ?? "", [runId]);
      await world.drain();
      expect(await world.view(runId)).toMatchObject({
        status: "QUEUED",
        quarantine: { reason: expect.any(String) },
      });
      await world.reconcile();
      await world.drain();
      expect((await world.view(runId)).status).toBe("QUEUED");
      await restore("journal", kept, runId);
      await restore("checkpoints", points, runId);
      const answer = await world.control.clear(
        { ...GRACE, roles: ["operator"] },
        runId,
        "restored from a backup",
      );
      expect(answer).toMatchObject({ cleared: true, status: "QUEUED" });
      await world.drain();
      expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "GRANTED", quarantine: null });
      const [audit] = await db.admin("select act, reason from ghouls.audit where run_id = $1", [runId]);
      expect(audit).toEqual({ act: "clear", reason: "restored from a backup" });
    },
  );

  async function restore(table: string, rows: readonly object[], runId: string): Promise<void> {
    await db.admin(`delete from ghouls.${table} where run_id = $1`, [runId]);
    for (const row of rows) {
      const columns = Object.keys(row);
      await db.admin(
        `insert into ghouls.${table} (${columns.join(", ")}) values (${columns.map((_, n) => `$${n + 1}`).join(", ")})`,
        Object.values(row),
      );
    }
  }
});

test("a decision that comes while the run is quarantined is kept, and brings it back at the clear", async () => {
  const { runId } = await world.submit("asks", {});
  await world.drain();
  await db.admin(
    "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'by a test' where run_id = $1",
    [runId],
  );
  const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
  const consent = consents[0] as (typeof consents)[number];
  expect(
    await world.consents.decide(GRACE, consent.consentId, { verdict: "grant", digest: consent.digest }),
  ).toMatchObject({ status: "GRANTED", resumed: false });
  await world.reconcile();
  expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
  expect(await world.control.clear(GRACE, runId, "it was a mistake")).toMatchObject({ status: "QUEUED" });
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "GRANTED" });
});
