import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "ghouls";
import { SOMEBODY, testWorld } from "../support/world.ts";

let fails = false;
const any = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    await ctx.step("one", () => {
      if (fails) throw new Error("no");
    });
  },
});
const world = await testWorld({ workflows: [any] });
const labels = { team: "payments", "customer/id": "a: ü" };

beforeEach(async () => {
  fails = false;
  await world.reset();
});

const found = async (wanted: Record<string, string>) => {
  const { runs } = await world.reads.listRuns(SOMEBODY.tenantId, { labels: wanted }, { limit: 10 });
  return runs.map(({ runId }) => runId);
};

describe("labels", () => {
  test("are shown and found as they were asked for, alone and in a batch", async () => {
    const { runId } = await world.submit("any", undefined, { labels });
    const batch = await world.admission.admitBatch(
      SOMEBODY,
      [{ team: "payments" }, {}].map((some) => ({
        request: { workflow: "any", labels: some },
        canonicalRequest: JSON.stringify(some),
        inputText: "null",
      })),
    );
    const [first] = batch.runs.flatMap((one) => (one.outcome === "admitted" ? [one.run.runId] : []));
    expect((await world.view(runId)).labels).toEqual(labels);
    expect(new Set(await found({ team: "payments" }))).toEqual(new Set([runId, first]));
    expect(await found(labels)).toEqual([runId]);
    expect(await found({ team: "ledger" })).toEqual([]);
    expect(await world.broken()).toEqual([]);
  });

  test("belong to the request: the same key with others is a conflict", async () => {
    await world.submit("any", 1, { labels, key: "once" });
    expect(await world.submit("any", 1, { labels, key: "once" })).toMatchObject({ created: false });
    await expect(world.submit("any", 1, { labels: { team: "other" }, key: "once" })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  test("of a run are those of its redrive", async () => {
    fails = true;
    const { runId } = await world.submit("any", undefined, { labels });
    await world.drain();
    const redriven = await world.admission.redrive(SOMEBODY, runId, "again");
    expect((await world.view(redriven.runId)).labels).toEqual(labels);
    expect(new Set(await found({ team: "payments" }))).toEqual(new Set([runId, redriven.runId]));
  });

  test("name what a cancel means, and nothing else is cancelled", async () => {
    const { runId } = await world.submit("any", undefined, { labels });
    const other = await world.submit("any", undefined, { labels: { team: "ledger" } });
    const answer = await world.control.cancelMatching(SOMEBODY, {
      filter: { labels: { team: "payments" } },
      reason: "not needed",
    });
    expect(answer.runs.map((one) => one.runId)).toEqual([runId]);
    expect((await world.view(other.runId)).status).toBe("QUEUED");
  });
});
