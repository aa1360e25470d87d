import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { createReconcilerService } from "@ghouls/engine";
import type { wire } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

/** The reconciler as people see it and set it to work, over a real ledger. */

let lowered = 0;
let encode = (text: string): Promise<string> => Promise.resolve(text);
const asked: string[] = [];
const world = await testWorld({
  workflows: [
    workflow({
      name: "asks",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: (ctx) => ctx.consent("ship it", { deciders: ["role:legal"], source: "tickets" }),
    }),
    workflow({
      name: "sleeps",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: (ctx) => ctx.sleep("1m"),
    }),
  ],
  decisionSources: {
    tickets: {
      lookUp: ({ runId }) => {
        asked.push(runId);
        return Promise.reject(new Error("503"));
      },
    },
  },
  codec: {
    encode: (text, { kind }) => (kind === "error" ? encode(text) : Promise.resolve(text)),
    decode: (text) => Promise.resolve(text),
  },
  beforeOpening: async () => {
    lowered += 1;
  },
});
const { db, ledger } = world;
const service = createReconcilerService({
  ...world.deps,
  ledger,
  queue: world.queue,
  pageSize: 2,
  pageBudgetMs: 100,
  answerMs: 20_000,
});

beforeEach(async () => {
  await world.reset();
  asked.length = 0;
  encode = (text) => Promise.resolve(text);
});

const of = ({ passes }: wire.PassesRun, name: string) => passes.find(({ pass }) => pass === name);
const held = async () => (await world.submit("sleeps", null, { held: true, holdFor: "1m" })).runId;

/** Every row that a pass or its frame could have written. */
const rows = async () =>
  JSON.stringify(
    await Promise.all(
      ["runs", "deliveries", "consents", "passes", "degraded_owners", "repairs"].map((table) =>
        db.admin(`select t::text from ghouls.${table} t order by 1`),
      ),
    ),
  );

test("a dry run says what would be done, page by page, writes nothing and asks nobody", async () => {
  const holds = [await held(), await held(), await held()];
  const { runId: asks } = await world.submit("asks");
  const { runId: sleeps } = await world.submit("sleeps");
  await world.drain();
  await world.advance(120);
  const [before, opened] = [await rows(), lowered];
  const answer = await service.run({ dryRun: true });
  expect([await rows(), lowered, asked]).toEqual([before, opened, []]);
  expect(answer.dryRun).toBe(true);
  expect(of(answer, "holds")).toMatchObject({ did: "looked", found: 2, repaired: 0, more: true });
  for (const finding of of(answer, "holds")?.findings ?? []) {
    expect(holds).toContain(finding.runId);
    expect(finding.rule).toBe("its hold has expired: end it");
  }
  expect(of(answer, "timers")).toMatchObject({
    more: false,
    findings: [{ tenantId: "acme", runId: sleeps, owner: sleeps, before: "AWAITING_TIMER" }],
  });
  expect(of(answer, "consents")?.findings).toMatchObject([{ runId: asks, before: "PENDING" }]);
  // What it said is what is done then.
  expect(of(await service.run({ passes: ["timers"] }), "timers")).toMatchObject({ found: 1, repaired: 1 });
});

test("a dry run takes no message, also where this process could", async () => {
  const refuse = () => Promise.reject(new Error("nobody receives in a dry run"));
  const seeing = createReconcilerService({
    ...world.deps,
    ledger: { ...ledger, deadLetters: { ...ledger.deadLetters, forget: refuse } },
    queue: world.queue,
    deadLetters: { queue: { receive: refuse, changeVisibility: refuse, delete: refuse }, names: ["runs"] },
    pageSize: 2,
    pageBudgetMs: 100,
    answerMs: 20_000,
  });
  const answer = await seeing.run({ passes: ["dead-letters"], dryRun: true });
  expect(of(answer, "dead-letters")).toMatchObject({ did: "later", error: null });
});

test("a dry run whose look fails says so, and of the others what it found", async () => {
  await held();
  await world.advance(120);
  const arms = { ...ledger.arms, due: () => Promise.reject(new TypeError("Key (tenant_id)=(hunter2)")) };
  const blind = createReconcilerService({
    ...world.deps,
    ledger: { ...ledger, arms },
    queue: world.queue,
    pageSize: 2,
    pageBudgetMs: 100,
    answerMs: 20_000,
  });
  const answer = await blind.run({ dryRun: true, passes: ["timers", "holds"] });
  expect(of(answer, "timers")).toMatchObject({ error: "TypeError", more: true, findings: [] });
  expect(of(answer, "holds")).toMatchObject({ error: null, found: 1 });
});

test("passes run in the answer's own time, in their order; those that ask somebody are left to the reconciler, which is called", async () => {
  const runId = await held();
  await world.submit("asks");
  await world.drain();
  await world.advance(120);
  await world.reconcile();
  expect(asked).toHaveLength(1);
  expect((await service.state({ limit: 10 })).degradedOwners).toMatchObject([{ pass: "consents", tries: 1 }]);
  const before = lowered;
  const answer = await service.run({ passes: ["relay", "consents", "holds"] });
  expect(answer.passes.map(({ pass, did }) => `${pass} ${did}`)).toEqual([
    "holds ran",
    "consents later",
    "relay ran",
  ]);
  expect(asked).toHaveLength(1);
  expect(lowered).toBeGreaterThan(before);
  expect(await ledger.nextLook()).toBeLessThanOrEqual(0);
  expect(await ledger.reconciler.takeTurns("consents", 5)).toMatchObject([{ tries: 2 }]);
  expect((await world.view(runId)).status).toBe("FAILED");
});

test("an operator's word is a turn for those that stand aside", async () => {
  await held();
  await world.advance(120);
  encode = () => Promise.reject(new Error("no key"));
  expect(of(await service.run({ passes: ["holds"] }), "holds")).toMatchObject({ failed: 1, degraded: 1 });
  encode = (text) => Promise.resolve(text);
  expect(of(await service.run({ passes: ["holds"] }), "holds")).toMatchObject({ repaired: 1, degraded: 0 });
});

test("a pass for which no time is left says so", async () => {
  const late = createReconcilerService({
    ...world.deps,
    ledger,
    queue: world.queue,
    pageSize: 2,
    pageBudgetMs: 100,
    answerMs: 0,
  });
  expect(of(await late.run({ passes: ["holds"] }), "holds")).toMatchObject({
    did: "ran",
    more: true,
    found: 0,
  });
});

describe("what the reconciler tells of itself", () => {
  test("is how far its passes are, who stands aside by page, and the newest repairs", async () => {
    for (let n = 0; n < 3; n += 1) await held();
    await world.advance(120);
    encode = () => Promise.reject(new Error("no key"));
    await world.reconcile();
    await world.submit("sleeps");
    await world.drain();
    await world.advance(70);
    await world.reconcile();
    const state = await service.state({ limit: 2 });
    expect(state.passes.find(({ pass }) => pass === "timers")).toMatchObject({
      found: 1,
      repaired: 1,
      failed: 0,
      reconciler: "worker-1",
      cursor: null,
      error: null,
    });
    expect(state.passes.map(({ pass }) => pass)).toContain("relay");
    expect(state.degradedPages).toMatchObject([{ pass: "holds", owners: 3, tries: 2 }]);
    expect(state.degradedOwners).toHaveLength(2);
    const rest = await service.state({ limit: 2, degradedCursor: state.nextDegradedCursor ?? "" });
    expect(rest.degradedOwners).toHaveLength(1);
    expect(rest.nextDegradedCursor).toBeNull();
    expect(new Set([...state.degradedOwners, ...rest.degradedOwners].map(({ owner }) => owner)).size).toBe(3);
    expect(state.repairs).toMatchObject([{ pass: "timers", tenantId: "acme", before: "AWAITING_TIMER" }]);
  });

  test("goes on where its page of repairs ended", async () => {
    for (let n = 0; n < 3; n += 1) await held();
    await world.advance(120);
    await service.run({ passes: ["holds"] });
    const first = await service.state({ limit: 2 });
    const next = await service.state({ limit: 2, cursor: first.nextCursor ?? "" });
    expect([first.repairs.length, next.repairs.length, next.nextCursor]).toEqual([2, 1, null]);
    expect(new Set([...first.repairs, ...next.repairs].map(({ repairId }) => repairId)).size).toBe(3);
  });

  test.each([{ cursor: "bm9uZQ" }, { degradedCursor: "bm9uZQ" }])(
    "refuses %o, which it did not give",
    async (page) => {
      await expect(service.state({ limit: 2, ...page })).rejects.toMatchObject({ code: "invalid_request" });
    },
  );

  test("leaves out what a later version has of its own", async () => {
    await db.admin("insert into ghouls.passes (pass) values ('moonrise')");
    expect((await service.state({ limit: 2 })).passes).toEqual([]);
  });
});
