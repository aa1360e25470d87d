import { describe, expect, test } from "vitest";
import { crashWorld } from "../support/crash-world.ts";
import type { Passing } from "../support/fault-plan.ts";
import { killsOn, victims } from "../support/victims.ts";

const world = await crashWorld();
const { stub, db } = world;
const survivor = await world.start();

const victim = victims(() => world.start());

const childOf = async (parentRunId: string) =>
  (
    await db.admin<{ run_id: string }>("select run_id from ghouls.runs where parent_run_id = $1", [
      parentRunId,
    ])
  ).map((row) => row.run_id);

/** Hop by hop: the parent starts its child and parks, the child ends and tells, the parent returns. */
const HOPS = ["the parent's first", "the child's", "the parent's last"] as const;

/** What a worker passes in each of the hops. */
async function wayOf(): Promise<readonly (readonly Passing[])[]> {
  const worker = await victim();
  await world.submit("parent");
  const ways: Passing[][] = [];
  for (const _ of HOPS) {
    await worker.faults([]);
    await world.step(worker);
    ways.push([...(await worker.inspect()).passings]);
  }
  worker.signal("SIGKILL");
  return ways;
}

const cases = (await wayOf()).flatMap((way, hop) =>
  killsOn(way).map(([label, fault]) => [HOPS[hop] as string, label, hop, fault] as const),
);

test("the way of a parent and its child passes every point between them", () => {
  const points = new Set(cases.map(([, , , { point, detail }]) => detail ?? point));
  for (const point of [
    "children.start",
    "deliveries.park",
    "deliveries.settle",
    "children.tell-parent",
    "arms.close",
    "runs.resume",
    "children.forget-end",
  ])
    expect([...points], point).toContain(point);
  const own = new Set(cases.map(([, , , { point }]) => point));
  for (const point of [
    "worker.before-child",
    "worker.after-child",
    "worker.before-tell-parent",
    "worker.after-tell-parent",
  ] as const)
    expect([...own], point).toContain(point);
});

describe("kill -9 of a worker", () => {
  test.each(cases)("in %s hop, at %s: one child, told once", async (_, __, hop, fault) => {
    const { runId } = await world.submit("parent");
    const worker = await victim();
    for (let at = 0; at < hop; at += 1) await world.step(worker);
    await worker.faults([fault]);
    const messages = await world.receive();
    expect(await worker.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    await world.heal([runId], survivor);

    const children = await childOf(runId);
    expect(children).toHaveLength(1);
    const [child = ""] = children;
    await world.audit({ [runId]: "DONE", [child]: "DONE" });
    await world.advance(1_000);
    await world.reconcile();
    expect(await db.admin("select from ghouls.child_ends")).toEqual([]);
    expect((await world.view(runId)).output).toEqual({ outcome: "DONE", runId: child });
    expect(await world.journalOf(runId)).toEqual(["before", "kid", "after"]);
    expect(stub.calls(child, "kid").length).toBeLessThanOrEqual(2);
    const resumed = await db.admin("select from ghouls.deliveries where run_id = $1 and cause = 'resumed'", [
      runId,
    ]);
    expect(resumed).toHaveLength(1);
  });
});
