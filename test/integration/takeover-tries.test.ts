import { expect, it } from "vitest";
import type { WorkflowContext } from "ghouls";
import { sha256 } from "@ghouls/core";
import { buildOf } from "../support/builds.ts";
import { testWorld } from "../support/world.ts";

const calls: string[] = [];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const world = await testWorld({ workflows: [], settings: { residentDelayMs: 50 } });
const hold = Promise.withResolvers<void>();

/** A waits a second for its next try beside B; then B2 and C follow. */
const code = async (ctx: WorkflowContext) => {
  await Promise.all([
    ctx.step(
      "a",
      ({ tryNumber }) => {
        calls.push(`a ${tryNumber}`);
        if (tryNumber === 1) throw new Error("not yet");
      },
      { tries: 2, backoff: { initial: "1s", factor: 1 } },
    ),
    ctx.step("b", () => pause(200)),
  ]);
  await ctx.step("c", async () => {
    calls.push("c");
    await hold.promise;
  });
  await ctx.sleep("1h");
  return "end";
};

const build = (name: string, digest: string, accepts: readonly string[]) =>
  buildOf(world, name, [{ digest: sha256(digest), accepts: accepts.map(sha256), run: code }]);

it("the same code under a new digest takes a run over whose step has had its next try after a handover", async () => {
  const monday = build("monday", "first", []);
  const runId = await monday.submit();
  const drain = new AbortController();
  const hop = monday.deliver(runId, 1, { draining: drain.signal });
  await expect.poll(() => calls).toEqual(["a 1"]);
  drain.abort();
  await hop;
  await pause(1_200);
  // The try is made in the next hop, which drains as well, behind it.
  const again = new AbortController();
  const second = monday.deliver(runId, 2, { draining: again.signal });
  await expect.poll(() => calls).toEqual(["a 1", "a 2", "c"]);
  again.abort();
  hold.resolve();
  await second;
  const tuesday = build("tuesday", "second", ["first"]);
  await tuesday.deliver(runId, 3);
  const view = await world.view(runId);
  expect(view.quarantine).toBe(null);
  expect(view.status).toBe("AWAITING_TIMER");
});
