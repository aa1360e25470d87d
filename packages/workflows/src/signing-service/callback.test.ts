import { expect, test } from "vitest";
import { callBack, isOnLoopback } from "./callback.ts";
import { callee } from "./service.support.ts";

const TIMES = { tries: 4, firstPauseMs: 1, timeoutMs: 60_000 };
const REPORT = { state: "succeeded" };

test.each([
  ["a network error and a 5xx are tried again", ["hang up", 503, 200], 3, true],
  ["a 4xx is the last word", [404, 200], 1, true],
  ["a redirect is the last word, and is not followed", [307, 200], 1, true],
  ["what nobody answers is given up in the end", [500, 500, 500, 500, 500], 4, false],
] as const)("%s", async (_, statuses, calls, told) => {
  const { url, calls: seen } = await callee(statuses);
  expect(await callBack({ url, token: "t" }, REPORT, TIMES)).toBe(told);
  expect(seen.map(({ path }) => path)).toEqual(Array.from({ length: calls }, () => "/callback"));
  expect(seen[0]).toMatchObject({ headers: { "ghouls-callback-token": "t" }, body: REPORT });
});

test.each([
  ["http://127.0.0.1:4700/v1/attempts/1/callback", true],
  ["https://localhost/x", true],
  ["http://[::1]:80/", true],
  ["http://2130706433/", true],
  ["http://127.0.0.1.example.org/", false],
  ["http://localhost.example.org/", false],
  ["http://169.254.169.254/", false],
  ["http://10.0.0.1/", false],
  ["http://user@127.0.0.1/", false],
  ["ftp://127.0.0.1/", false],
  ["127.0.0.1", false],
])("%s is on this machine: %s", (url, expected) => {
  expect(isOnLoopback(url)).toBe(expected);
});
