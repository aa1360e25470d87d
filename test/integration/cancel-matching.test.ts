import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Principal, wire } from "@ghouls/core";
import { workflow } from "ghouls";
import { cancelMatching } from "../../packages/engine/src/matching.ts";
import { makeRun } from "../support/factories.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const child = workflow({ ...base, name: "child", run: (ctx) => ctx.sleep("1h") });
let lost: string | undefined;
const world = await testWorld({
  faults: (point, detail) => {
    if (point === "ledger.before-statement" && detail === lost) throw new Error("by a test");
  },
  workflows: [
    workflow({ ...base, name: "hello", run: (ctx) => ctx.sleep("1h") }),
    workflow({
      ...base,
      name: "parent",
      run: (ctx) => ctx.map("parts", [1, 2], () => ctx.child(child, null)),
    }),
    child,
  ],
});
const { db, ledger } = world;
afterEach(() => world.reset());

const cancel = (
  filter: wire.CancelFilter,
  rest: Partial<wire.CancelMatchingRequest> = {},
  by: Principal = SOMEBODY,
) => world.control.cancelMatching(by, { filter, reason: "no longer wanted", ...rest });
const open = async () =>
  (
    await db.admin<{ n: number }>(
      "select count(*)::integer as n from ghouls.runs where status <> 'CANCELLED'",
    )
  )[0]?.n;

describe("a cancel by filter", () => {
  test("touches what the filter means and nothing else, each with who and why", async () => {
    await Promise.all([
      makeRun(db),
      makeRun(db, { workflow: "other" }),
      makeRun(db, { tenantId: "foreign" }),
    ]);
    const answer = await cancel({ workflow: "hello" });
    expect(answer).toMatchObject({ dryRun: false, cancelled: 1, ending: 0, ended: 0, nextCursor: null });
    expect(answer.runs).toMatchObject([{ workflow: "hello", outcome: "cancelled", status: "CANCELLED" }]);
    const rows = await db.admin(
      "select workflow_name, tenant_id, status, cancelled_by, cancel_reason from ghouls.runs order by 1, 2",
    );
    expect(rows).toMatchObject([
      { tenant_id: "acme", status: "CANCELLED", cancelled_by: "user:ada", cancel_reason: "no longer wanted" },
      { tenant_id: "foreign", status: "QUEUED", cancelled_by: null },
      { workflow_name: "other", status: "QUEUED", cancelled_by: null },
    ]);
  });

  test("goes on from page to page over 100 equal runs, and the cancel of one of them touches one", async () => {
    const made = await Promise.all(Array.from({ length: 100 }, () => makeRun(db)));
    await world.control.cancel(SOMEBODY, made[41]?.runId ?? "", "this one");
    expect(await open()).toBe(99);
    const pages: wire.CancelledMatching[] = [];
    let cursor: string | undefined;
    do {
      const page = await cancel({ workflow: "hello" }, { limit: 40, ...(cursor && { cursor }) });
      // What comes meanwhile is not of these.
      if (cursor === undefined) await makeRun(db);
      pages.push(page);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(pages.map((page) => page.cancelled)).toEqual([40, 40, 19]);
    expect(await open()).toBe(1);
  });

  test("of a dry run tells the same, and changes nothing", async () => {
    await Promise.all([
      makeRun(db),
      makeRun(db, { status: "RUNNING" }),
      makeRun(db, { status: "CANCELLING" }),
    ]);
    const answer = await cancel({ workflow: "hello" }, { dryRun: true });
    expect(answer).toMatchObject({ dryRun: true, cancelled: 2, ending: 1, ended: 0 });
    expect(await db.admin("select from ghouls.runs where cancelled_by is not null")).toEqual([]);
  });

  test("leaves alone what has ended, and counts what is ending already", async () => {
    for (const status of ["DONE", "FAILED", "CANCELLED", "FAILING", "AWAITING_SIGNAL"] as const)
      await makeRun(db, { status });
    const answer = await cancel({ workflow: "hello" });
    expect(answer).toMatchObject({ cancelled: 1, ending: 1, ended: 0 });
    expect(answer.runs).toHaveLength(2);
  });

  test("that is lost half way leaves those before it cancelled, and the same again finds them so", async () => {
    await Promise.all([makeRun(db), makeRun(db), makeRun(db)]);
    const { runs } = await cancel({ workflow: "hello" }, { limit: 1 });
    lost = "runs.end-if-contained";
    await expect(cancel({ workflow: "hello" })).rejects.toThrow();
    lost = undefined;
    expect(runs).toHaveLength(1);
    expect(await open()).toBe(2);
    expect(await cancel({ workflow: "hello" })).toMatchObject({ cancelled: 2 });
  });

  test("counts what ended before its turn", async () => {
    const run = await makeRun(db);
    const page = await ledger.runs.matching("acme", { workflow: "hello" }, { limit: 1 });
    await ledger.runs.cancel(run, { actor: "a", reason: "b" }, 60);
    const late = { ...ledger, runs: { ...ledger.runs, matching: () => Promise.resolve(page) } };
    const request = { filter: { workflow: "hello" }, reason: "x" };
    const answer = await cancelMatching({ ledger: late, settings: world.deps.settings }, SOMEBODY, request);
    expect(answer).toMatchObject({
      cancelled: 0,
      ended: 1,
      runs: [{ outcome: "ended", status: "CANCELLED" }],
    });
  });

  test("by status, time and attention", async () => {
    const [early, late, odd] = [
      await makeRun(db),
      await makeRun(db),
      await makeRun(db, { quarantined: true }),
    ];
    await makeRun(db, { status: "AWAITING_TIMER" });
    const at = async (run: { runId: string }, time: string) =>
      db.admin("update ghouls.runs set created_at = $2 where run_id = $1", [run.runId, time]);
    await at(early, "2026-01-01T00:00:00Z");
    await at(late, "2026-01-02T00:00:00Z");
    const meant = async (filter: wire.CancelFilter) =>
      (await cancel(filter, { dryRun: true })).runs.map(({ runId }) => runId);
    expect(await meant({ attention: true })).toEqual([odd.runId]);
    expect(await meant({ admittedBefore: "2026-01-02T00:00:00Z" })).toEqual([early.runId]);
    expect(
      await meant({ admittedAfter: "2026-01-02T00:00:00Z", admittedBefore: "2026-01-03T00:00:00Z" }),
    ).toEqual([late.runId]);
    expect(await meant({ status: ["AWAITING_TIMER"], workflow: "hello" })).toHaveLength(1);
    expect(await meant({ status: ["QUEUED", "AWAITING_TIMER"] })).toHaveLength(4);
  });

  test("of the children of a run leaves it to go on without them", async () => {
    const { runId } = await world.submit("parent");
    await world.submit("hello");
    await world.drain();
    expect(await cancel({ parentRunId: runId })).toMatchObject({ cancelled: 2 });
    await world.later(1);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(await world.broken()).toEqual([]);
  });

  test("with a cursor that is not one of ours is refused, and of another tenant finds nothing", async () => {
    await makeRun(db);
    await expect(cancel({ workflow: "hello" }, { cursor: "x" })).rejects.toMatchObject({
      code: "invalid_request",
    });
    const foreign = await cancel({ workflow: "hello" }, {}, { ...SOMEBODY, tenantId: "foreign" });
    expect(foreign).toMatchObject({ cancelled: 0, runs: [] });
  });
});
