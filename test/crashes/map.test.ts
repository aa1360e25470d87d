import { expect, test } from "vitest";
import { OVER_SECONDS, crashWorld } from "../support/crash-world.ts";
import type { Fault } from "../support/fault-plan.ts";
import { until } from "../support/wait.ts";

const world = await crashWorld();
const { stub } = world;

const ITEMS = 1_000;

/** Ten ends of a worker, each some way further into the items that are left: before a call, after it, and as it is journaled. */
const KILLS = Array.from({ length: 10 }, (_, at): Fault => {
  const nth = 40 + 13 * at;
  if (at % 3 === 0) return { point: "worker.before-step", nth, action: "kill" };
  if (at % 3 === 1) return { point: "worker.after-step", nth, action: "kill" };
  const detail = "journal.append";
  return {
    point: at % 2 === 0 ? "ledger.before-statement" : "ledger.after-statement",
    detail,
    nth,
    action: "kill",
  };
});

test("a map of 1,000 items whose workers are killed ten times does each item, again only under its key, and keeps the order", async () => {
  const { runId } = await world.submit("wide", { items: ITEMS });
  for (const [at, kill] of KILLS.entries()) {
    const worker = await world.start();
    await worker.faults([kill]);
    let messages = await world.receive();
    await until("its message is there", async () => {
      if (messages.length > 0) return true;
      await world.reconcile();
      messages = await world.receive();
      return false;
    });
    expect(await worker.work(messages), `kill ${at + 1}`).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    await world.advance(OVER_SECONDS);
    await world.reconcile();
  }
  const survivor = await world.start();
  await world.heal([runId], survivor);
  await world.audit({ [runId]: "DONE" });

  const deliveries = await world.deliveriesOf(runId);
  expect(deliveries.filter(({ outcome }) => outcome === "lost")).toHaveLength(KILLS.length);
  expect((await world.view(runId)).output).toEqual(
    Array.from({ length: ITEMS }, (_, index) => `one ${index} was done by ${index}`),
  );
  const keys = new Map<string, Set<string>>();
  for (const { step, key } of stub.calls(runId)) keys.set(step, (keys.get(step) ?? new Set()).add(key));
  expect(keys.size).toBe(ITEMS);
  expect([...keys.values()].every((of) => of.size === 1)).toBe(true);
  expect(new Set([...keys.values()].flatMap((of) => [...of])).size).toBe(ITEMS);
  // At most what was in flight at a kill is done again.
  expect(stub.calls(runId).length).toBeLessThanOrEqual(ITEMS + KILLS.length * 20);
  expect(stub.calls(runId).length).toBeGreaterThan(ITEMS);
});
