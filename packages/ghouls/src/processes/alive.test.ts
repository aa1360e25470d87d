import { expect, test } from "vitest";
import { commandByPs, commandOf, isAlive, signalIfAlive, untilGone } from "./alive.ts";

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
