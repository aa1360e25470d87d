import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { commandByPs, commandOf, isAlive, signalIfAlive, untilGone } from "./alive.ts";
import { createSupervisor, endLeftBehind } from "./supervisor.ts";
import { until } from "./until.support.ts";

function scripted(failures: number, over: { tries?: number; pauseMs?: number } = {}) {
  const recorded: string[] = [];
  const log: string[] = [];
  let calls = 0;
  let closed = 0;
  const supervisor = createSupervisor({
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
  return { supervisor, recorded, log, calls: () => calls, closed: () => closed };
}

test("the end of a worker is recorded, and told where it held something", async () => {
  const one = scripted(0);
  await one.supervisor.record("runs-1", "SIGKILL");
  await one.supervisor.record("idle", "exit code 0");
  expect(one.recorded).toEqual(["runs-1: SIGKILL", "idle: exit code 0"]);
  expect(one.log).toEqual(["runs-1 ended (SIGKILL); it held 2 delivery(s)"]);
  expect(await one.supervisor.close(10)).toEqual([]);
});

test("a ledger that is down for a while is asked again; one that stays down is given up", async () => {
  const back = scripted(2);
  await back.supervisor.record("runs-1", "SIGKILL");
  expect(back.recorded).toEqual(["runs-1: SIGKILL"]);
  const down = scripted(1_000, { tries: 3 });
  await down.supervisor.record("runs-1", "SIGKILL");
  expect(down.calls()).toBe(3);
  expect(down.log).toEqual(Array(3).fill("the end of runs-1 was not recorded: down"));
});

test("closing ends a pause, records nothing more, and closes the ledger", async () => {
  const one = scripted(1_000, { pauseMs: 1_000_000 });
  const recording = one.supervisor.record("runs-1", "SIGKILL");
  // The next start is told whose end is still unknown to the ledger.
  expect(await one.supervisor.close(10)).toEqual(["runs-1"]);
  await recording;
  expect(one.calls()).toBe(1);
  expect(one.closed()).toBe(1);
});

test("workers of a killed host are ended if they are ours, and all of them recorded", async () => {
  const ours = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "/process/function.ts"]);
  const foreign = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "/other/program.ts"]);
  const gone = spawn(process.execPath, ["-e", ""]);
  await once(gone, "exit");
  const [oursPid = 0, foreignPid = 0, gonePid = 0] = [ours.pid, foreign.pid, gone.pid];
  await until(() => commandOf(oursPid)).toContain("/process/function.ts");
  await until(() => commandOf(foreignPid)).toContain("/other/program.ts");
  const one = scripted(0);
  await endLeftBehind(
    [
      { role: "worker", pid: oursPid, worker: "a" },
      { role: "worker", pid: foreignPid, worker: "b" },
      { role: "worker", pid: gonePid, worker: "c" },
      { role: "api", pid: foreignPid },
    ],
    ["/process/function."],
    one.supervisor,
  );
  expect(one.recorded.toSorted()).toEqual(["a: its host ended", "b: its host ended", "c: its host ended"]);
  expect(isAlive(oursPid)).toBe(false);
  expect(isAlive(foreignPid)).toBe(true);
  foreign.kill("SIGKILL");
  expect(await untilGone(foreignPid, 5_000)).toBe(true);
});

test("what is known of a process: alive or not, and its command", async () => {
  expect(isAlive(process.pid)).toBe(true);
  expect([1, 0, -1, Number.NaN, 2.5].map(isAlive)).toEqual([true, false, false, false, false]);
  expect([0, -1, Number.NaN, 2 ** 30].map((pid) => signalIfAlive(pid, "SIGCONT"))).toEqual(
    Array(4).fill(false),
  );
  expect(() => signalIfAlive(process.pid, "SIGNOTHING" as NodeJS.Signals)).toThrow(/SIGNOTHING/);
  expect(signalIfAlive(process.pid, "SIGCONT")).toBe(true);
  expect(isAlive(2 ** 30)).toBe(false);
  expect(await commandOf(2 ** 30)).toBe("");
  expect(await commandOf(process.pid)).not.toBe("");
  expect(await commandByPs(2 ** 30)).toBe("");
  expect(await untilGone(process.pid, 20)).toBe(false);
});
