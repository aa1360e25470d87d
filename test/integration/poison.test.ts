import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { identityCodec } from "@ghouls/core";
import { reconcile } from "../../packages/engine/src/reconciler/reconcile.ts";
import { makeRun } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

/** F74: rows that cannot be repaired stand at the head of a pass, as many as fill its pages. */

const fails = workflow({
  name: "fails",
  version: 1,
  onWorkerLoss: "fail",
  input: z.unknown(),
  run: () => Promise.resolve("x"),
});
const good = new Set<string>();
const world = await testWorld({
  workflows: [fails],
  codec: {
    ...identityCodec,
    encode: (text, { kind, runId }) =>
      kind === "error" && !good.has(runId) ? Promise.reject(new Error("no key")) : Promise.resolve(text),
  },
});
const BAD = 1_000;
const pages = Math.ceil((BAD + 1) / 100);

/** A bad row is as any other, but for its codec: copies of one, a microsecond apart. */
async function copies(runId: string): Promise<void> {
  for (const table of ["runs", "deliveries", "containment_items"]) {
    const names = await world.db.admin<{ name: string }>(
      `select column_name as name from information_schema.columns
       where table_schema = 'ghouls' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`,
      [table],
    );
    const columns = names.map(({ name }) => name);
    const shifted = new Set(["lease_until", "hold_expires_at", "next_look_at"]);
    const values = columns.map((name) => {
      if (name === "run_id" || name === "first_run_id") return "md5(n::text || t.run_id::text)::uuid";
      if (name === "idempotency_key") return "null";
      return shifted.has(name) ? `t.${name} - n * interval '1 microsecond'` : `t.${name}`;
    });
    await world.db.admin(
      `insert into ghouls.${table} (${columns.join(", ")})
       select ${values.join(", ")} from ghouls.${table} t, generate_series(1, ${BAD - 1}) as n where t.run_id = $1`,
      [runId],
    );
  }
}

const claim = (runId: string) =>
  world.ledger.deliveries.claimIfDue([{ runId, enqueueSeq: 1, token: randomUUID() }], {
    worker: "w",
    leaseSeconds: 10,
    actsForSeconds: 20,
  });

test("a thousand holds whose codec fails do not keep one behind them from ending, within one invocation", async () => {
  const hold = () => world.submit("fails", null, { held: true, holdFor: "1m" });
  await copies((await hold()).runId);
  await world.advance(5);
  const { runId } = await hold();
  good.add(runId);
  await world.advance(120);
  expect(await world.reconcile()).toMatchObject({
    holds: { expired: BAD + 1, ended: 1, failed: BAD, pages },
  });
  expect((await world.view(runId)).status).toBe("FAILED");
});

test("a thousand lost claims whose codec fails do not keep one behind them from being judged, and are counted", async () => {
  await world.reset();
  const bad = await world.submit("fails");
  await claim(bad.runId);
  await copies(bad.runId);
  await world.advance(5);
  const { runId } = await world.submit("fails");
  good.add(runId);
  await claim(runId);
  await world.advance(12);
  expect(await world.reconcile()).toMatchObject({
    reanimation: { lapsed: BAD + 1, failing: 1, failed: BAD, pages },
  });
  expect((await world.view(runId)).status).toBe("FAILING");
});

test("a page of runs whose items cannot be looked at does not keep those behind it from their look", async () => {
  await world.reset();
  const bad = await Promise.all([1, 2, 3].map(() => makeRun(world.db, { status: "FAILING" })));
  const { runId } = await makeRun(world.db, { status: "FAILING" });
  const broken = new Set(bad.map((run) => run.runId));
  const { ledger } = world;
  const contain: typeof ledger.items.contain = async (key, max) => {
    if (broken.has(key.runId)) throw new Error("by a test");
    return ledger.items.contain(key, max);
  };
  const report = await reconcile({
    ...world.deps,
    ledger: { ...ledger, items: { ...ledger.items, contain } },
    queue: world.queue,
    pageSize: 1,
    pageBudgetMs: 100,
    remainingMs: () => 60_000,
  });
  expect(report).toMatchObject({ containment: { due: 4, ended: 1, failed: 3 } });
  expect((await world.view(runId)).status).toBe("FAILED");
});

test("a pass whose rows all fail leaves half of the invocation to the passes after it", async () => {
  await world.reset();
  const bad = await world.submit("fails");
  await claim(bad.runId);
  await copies(bad.runId);
  await world.advance(12);
  let remaining = 40_000;
  const report = await reconcile({
    ...world.deps,
    queue: world.queue,
    pageSize: 10,
    pageBudgetMs: 100,
    // Each look at the clock finds it a second later, until the passes after it have theirs.
    remainingMs: () => (remaining -= remaining > 18_000 ? 1_000 : 100),
  });
  expect(report.reanimation).toMatchObject({ lapsed: 190, failed: 190, pages: 19 });
  expect(report.relay.pages).toBe(1);
});
