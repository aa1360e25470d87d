import { expect, test } from "vitest";
import { createEndRecorder } from "./worker-ends.ts";

function scripted(failures: number, over: { tries?: number; pauseMs?: number } = {}) {
  const recorded: string[] = [];
  const log: string[] = [];
  let calls = 0;
  let closed = 0;
  const recorder = createEndRecorder({
    actsMarginSeconds: 7,
    ledger: {
      deliveries: {
        recordWorkerEnd: ({ worker, how }) => {
          calls += 1;
          if (calls <= failures) return Promise.reject(new Error("down"));
          recorded.push(`${worker}: ${how}`);
          return Promise.resolve(worker === "idle" ? 0 : 2);
        },
      },
      close: () => {
        closed += 1;
        return Promise.resolve();
      },
    },
    log: (text) => log.push(text),
    pauseMs: 1,
    ...over,
  });
  return { recorder, recorded, log, calls: () => calls, closed: () => closed };
}

test("the end of a worker is recorded, and told where it held something", async () => {
  const one = scripted(0);
  await one.recorder.record("runs-1", "SIGKILL");
  await one.recorder.record("idle", "exit code 0");
  expect(one.recorded).toEqual(["runs-1: SIGKILL", "idle: exit code 0"]);
  expect(one.log).toEqual(["runs-1 ended (SIGKILL); it held 2 delivery(s)"]);
  expect(await one.recorder.close(10)).toEqual([]);
});

test("a ledger that is down for a while is asked again; one that stays down is given up", async () => {
  const back = scripted(2);
  await back.recorder.record("runs-1", "SIGKILL");
  expect(back.recorded).toEqual(["runs-1: SIGKILL"]);
  const down = scripted(1_000, { tries: 3 });
  await down.recorder.record("runs-1", "SIGKILL");
  expect(down.calls()).toBe(3);
  expect(down.log).toEqual(Array(3).fill("the end of runs-1 was not recorded: down"));
});

test("closing ends a pause, records nothing more, and closes the ledger", async () => {
  const one = scripted(1_000, { pauseMs: 1_000_000 });
  const recording = one.recorder.record("runs-1", "SIGKILL");
  // The next start is told whose end is still unknown to the ledger.
  expect(await one.recorder.close(10)).toEqual(["runs-1"]);
  await recording;
  expect(one.calls()).toBe(1);
  expect(one.closed()).toBe(1);
});
