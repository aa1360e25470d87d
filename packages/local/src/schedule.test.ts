import { expect, test } from "vitest";
import type { InvocationResult } from "./lambda-table.ts";
import { startSchedule } from "./schedule.ts";
import { until } from "./until.support.ts";

function scripted(intervalMs: number) {
  const open: ((result: InvocationResult) => void)[] = [];
  const log: string[] = [];
  let invocations = 0;
  const schedule = startSchedule({
    intervalMs,
    invoke: (event) => {
      expect(event.source).toBe("aws.scheduler");
      invocations += 1;
      return new Promise((resolve) => open.push(resolve));
    },
    log: (text) => log.push(text),
  });
  const end = (result: InvocationResult): void => open.shift()?.(result);
  return { schedule, log, end, open: () => open.length, invocations: () => invocations };
}

test("invokes at once, and again only when the one before has ended", async () => {
  const one = scripted(1);
  for (let round = 1; round <= 3; round += 1) {
    await until(one.invocations).toBe(round);
    expect(one.open()).toBe(1);
    one.end({ ok: true, value: null });
  }
  const stopped = one.schedule.stop(5_000);
  one.end({ ok: true, value: null });
  await stopped;
  expect(one.open()).toBe(0);
});

test("a failed invocation is told, and does not end the schedule", async () => {
  const one = scripted(1);
  await until(one.open).toBe(1);
  one.end({ ok: false, reason: "SIGKILL" });
  await until(one.invocations).toBe(2);
  expect(one.log).toEqual(["the reconciler failed: SIGKILL"]);
  const stopped = one.schedule.stop(5_000);
  one.end({ ok: true, value: null });
  await stopped;
});

test("stopping does not wait for the next time, and not for ever for the one under way", async () => {
  const pausing = scripted(1_000_000);
  await until(pausing.open).toBe(1);
  pausing.end({ ok: true, value: null });
  await pausing.schedule.stop(5_000);
  expect(pausing.invocations()).toBe(1);
  const hanging = scripted(1_000_000);
  await hanging.schedule.stop(10);
  expect(hanging.invocations()).toBe(1);
});
