import { spawn } from "node:child_process";
import { once } from "node:events";
import { commandOf, isAlive, untilGone } from "ghouls/processes/alive";
import { expect, test } from "vitest";
import { endLeftBehind } from "./left-behind.ts";
import { until } from "./until.support.ts";

test("workers of a killed host are ended if they are ours, and all of them recorded", async () => {
  const ours = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "/process/function.ts"]);
  const foreign = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "/other/program.ts"]);
  const gone = spawn(process.execPath, ["-e", ""]);
  await once(gone, "exit");
  const [oursPid = 0, foreignPid = 0, gonePid = 0] = [ours.pid, foreign.pid, gone.pid];
  await until(() => commandOf(oursPid)).toContain("/process/function.ts");
  await until(() => commandOf(foreignPid)).toContain("/other/program.ts");
  const recorded: string[] = [];
  const recorder = {
    record: (worker: string, how: string) => {
      recorded.push(`${worker}: ${how}`);
      return Promise.resolve(true);
    },
    close: () => Promise.resolve([]),
  };
  await endLeftBehind(
    [
      { role: "worker", pid: oursPid, worker: "a" },
      { role: "worker", pid: foreignPid, worker: "b" },
      { role: "worker", pid: gonePid, worker: "c" },
      { role: "api", pid: foreignPid },
    ],
    ["/process/function."],
    recorder,
  );
  expect(recorded.toSorted()).toEqual(["a: its host ended", "b: its host ended", "c: its host ended"]);
  expect(isAlive(oursPid)).toBe(false);
  expect(isAlive(foreignPid)).toBe(true);
  foreign.kill("SIGKILL");
  expect(await untilGone(foreignPid, 5_000)).toBe(true);
});
