import { afterEach, expect, it } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Wake } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

let cut: string | undefined;
const calls: string[] = [];
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const naps = workflow({ ...base, name: "naps", run: (ctx) => ctx.sleep("10m").then(() => "end") });
let release = Promise.withResolvers<void>();
const tries = workflow({
  ...base,
  name: "tries",
  run: (ctx) =>
    Promise.all([
      ctx.step(
        "a",
        ({ tryNumber }) => {
          calls.push(`a ${tryNumber}`);
          if (tryNumber === 1) throw new Error("not yet");
        },
        { tries: 2, backoff: { initial: "1h", factor: 1 } },
      ),
      ctx.step("b", () => release.promise),
    ]).then(() => "end"),
});
const world = await testWorld({
  workflows: [naps, tries],
  faults: (point, detail) => {
    if (point !== "ledger.after-commit" || detail !== cut) return;
    cut = undefined;
    throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  },
});
afterEach(async () => {
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  await world.reset();
});

it("a near timer's message is sent though the answer to the park's COMMIT was lost", async () => {
  const { runId } = await world.submit("naps");
  const wakes: Wake[] = [];
  const queue = Object.create(world.queue) as typeof world.queue;
  for (const name of ["publish", "changeVisibility", "changeVisibilities", "receive", "delete"] as const)
    Object.assign(queue, { [name]: (world.queue[name] as (...args: never[]) => unknown).bind(world.queue) });
  Object.assign(queue, {
    wake: async (some: readonly Wake[]) => {
      wakes.push(...some);
      return [];
    },
  });
  cut = "deliveries.park";
  const outcomes = await world.deliver([`run:${runId}:1`], { queue });
  expect(cut).toBe(undefined);
  expect(outcomes).toEqual([expect.objectContaining({ reason: "AWAITING_TIMER" })]);
  expect(wakes).toHaveLength(1);
  expect(wakes[0]?.delaySeconds).toBeGreaterThan(300);
});

it("a handover of standing tries happens once though the answer to its COMMIT was lost", async () => {
  calls.length = 0;
  const { runId } = await world.submit("tries");
  const drain = new AbortController();
  const hop = world.deliver([`run:${runId}:1`], { draining: drain.signal });
  await expect.poll(() => calls).toEqual(["a 1"]);
  drain.abort();
  cut = "deliveries.yield-standing";
  release.resolve();
  await hop;
  expect(cut).toBe(undefined);
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
  expect(calls).toEqual(["a 1"]);
  await world.advance(3_700);
  await world.reconcile();
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  expect(calls).toEqual(["a 1", "a 2"]);
});
