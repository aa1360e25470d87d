import { beforeEach, describe, expect, test } from "vitest";
import { reconcileWhenDue } from "@ghouls/engine";
import { noHint, type WakeHint } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

/** A whole invocation of the scheduled reconciler, where the ledger falls silent after its passes. */

const world = await testWorld({ workflows: [] });
const { ledger } = world;
beforeEach(async () => {
  await world.reset();
  world.logged.length = 0;
});

const never = () => new Promise<never>(() => undefined);
const keeping: WakeHint = {
  ...noHint,
  keeps: true,
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(true),
};

describe("an invocation ends inside its time, also where the ledger does not say", () => {
  test.each([
    ["what waits in it", { health: never }, "what waits in the ledger could not be measured"],
    ["when the next look is due", { nextLook: never }, "the hint could not be raised"],
  ])("%s", async (_what, silent, said) => {
    const until = performance.now() + 4_000;
    const report = await reconcileWhenDue({
      ...world.deps,
      ledger: { ...ledger, ...silent },
      queue: world.queue,
      hint: keeping,
      pageSize: 100,
      pageBudgetMs: 200,
      remainingMs: () => until - performance.now(),
    });
    expect(report).toMatchObject({ relay: { pages: 1 } });
    expect(world.logged.map(({ message }) => message)).toContain(said);
    expect(performance.now()).toBeLessThan(until);
  });
});
