import { expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { isTerminalRun, type RunStatus } from "@ghouls/core";
import { Chance } from "../support/adversarial-jobs.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/**
 * Steps that ignore their signal, and act at their very end: no run is CANCELLED, FAILED or DONE while one of them is still to
 * act. What each has done is counted when its end was seen, and again when everything has gone quiet.
 */

const TRIALS = 1_000;
const TOGETHER = 100;

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const acted = new Map<string, number>();
const act = (runId: string) => acted.set(runId, (acted.get(runId) ?? 0) + 1);

const base = {
  version: 1,
  input: z.object({ seed: z.int() }),
  run: async (ctx, { seed }) => {
    const chance = new Chance(seed);
    const [delays, fails] = [Array.from({ length: 4 }, () => chance.next() * 40), chance.next() < 0.3];
    const steps = delays.map((ms, at) =>
      ctx.step(
        `step ${at}`,
        async () => {
          await delay(ms);
          act(ctx.runId);
          if (fails && at === 1) throw new Error("no");
        },
        { timeout: "1s" },
      ),
    );
    // By the seed it waits for all, or lets some go on behind its end.
    await (seed % 2 === 0 ? Promise.all(steps) : steps[0]);
    if (seed % 5 === 0) await ctx.waitForSignal("never");
  },
} as const satisfies Omit<Parameters<typeof workflow>[0], "name" | "onWorkerLoss" | "input"> & {
  readonly input: unknown;
};
const world = await testWorld({
  workflows: [
    workflow({ ...base, name: "resumes", onWorkerLoss: "resume" }),
    workflow({ ...base, name: "fails", onWorkerLoss: "fail" }),
  ],
  maxConnections: 12,
});
const { db } = world;

async function trials(from: number) {
  const runs = await Promise.all(
    Array.from({ length: TOGETHER }, async (_, index) => {
      const seed = from + index;
      const { runId } = await world.submit(seed % 3 === 0 ? "fails" : "resumes", { seed });
      return { seed, runId };
    }),
  );
  const chance = new Chance(from);
  const atTheEnd = new Map<string, number>();
  const statuses = async () =>
    db.admin<{ run_id: string; status: RunStatus }>("select run_id, status from ghouls.runs");
  const look = async () => {
    for (const { run_id: runId, status } of await statuses())
      if (isTerminalRun(status) && !atTheEnd.has(runId)) atTheEnd.set(runId, acted.get(runId) ?? 0);
  };
  // No beat keeps a claim that is judged as lost; its worker speaks for it when its last step has ended.
  const working = [1, 2, 3].map(() =>
    world.drain({ deps: { settings: { ...world.deps.settings, beatMs: 1_000_000 } } }),
  );
  for (let turn = 0; turn < 6; turn += 1) {
    await delay(chance.next() * 20);
    // The claims of these are lapsed, and none of their workers is over: together far less than they may act.
    if (turn === 2) await world.advance(130);
    await world.reconcile();
    for (const { runId } of runs.filter(() => chance.next() < 0.15))
      await world.control.cancel(SOMEBODY, runId, "by a test");
    await look();
  }
  await Promise.all(working);
  for (let round = 0; round < 12; round += 1) {
    await world.later(round < 2 ? 1 : 400);
    for (const { seed, runId } of runs)
      if (seed % 5 === 0) await world.control.cancel(SOMEBODY, runId, "by a test");
    await look();
  }
  await delay(60);
  const open = (await statuses()).filter(({ status }) => !isTerminalRun(status));
  const early = runs.filter(({ runId }) => atTheEnd.get(runId) !== (acted.get(runId) ?? 0));
  const broken = await world.broken();
  return [
    ...open.map(({ run_id: runId, status }) => `${runId} is ${status}`),
    ...early.map(
      ({ seed, runId }) => `seed ${seed}: ${atTheEnd.get(runId)} effects at its end, ${acted.get(runId)} now`,
    ),
    ...broken.map((one) => JSON.stringify(one)),
  ];
}

const ends = new Set<string>();

test.each(Array.from({ length: TRIALS / TOGETHER }, (_, batch) => batch * TOGETHER + 1))(
  `${TOGETHER} trials from seed %i on: nothing acts after an end`,
  async (from) => {
    expect(await trials(from)).toEqual([]);
    for (const { status } of await db.admin<{ status: string }>("select distinct status from ghouls.runs"))
      ends.add(status);
    await world.reset();
    acted.clear();
  },
  120_000,
);

test("the trials came to every end that there is", () => {
  expect([...ends].toSorted()).toEqual(["CANCELLED", "DONE", "FAILED"]);
});
