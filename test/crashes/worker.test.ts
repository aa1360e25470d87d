import { expect, test } from "vitest";
import { until } from "../support/wait.ts";
import { workerWorld } from "../support/worker-world.ts";

const world = await workerWorld();
const { stub } = world;

test("SIGTERM under load: it ends with 0, nothing is lost, no loss is counted, and the next goes on", async () => {
  const runIds = await world.many("three", 200);
  const first = world.command();
  await first.untilServing();
  await until(
    "some have ended",
    async () => (await world.statusesOf(runIds)).filter((one) => one === "DONE").length > 20,
  );
  first.signal("SIGTERM");
  first.signal("SIGTERM");
  expect(await first.ended).toEqual({ code: 0, signal: null });
  const left = (await world.statusesOf(runIds)).filter((one) => one !== "DONE");
  expect(left.length).toBeGreaterThan(0);
  expect(new Set(left)).toEqual(new Set(["QUEUED"]));
  expect(await world.lossesOf(runIds)).toBe(0);

  const second = world.command();
  await world.end(runIds);
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(await world.lossesOf(runIds)).toBe(0);
  await world.audit(Object.fromEntries(runIds.map((runId) => [runId, "DONE"])));
  for (const runId of runIds) expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
});
