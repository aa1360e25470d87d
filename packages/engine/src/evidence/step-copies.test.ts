import { expect, test, vi } from "vitest";
import type { Logger } from "@ghouls/core";
import type { StepCopy } from "@ghouls/ledger";
import { StepCopies } from "./step-copies.ts";

const at = new Date(0);
const copy = (runId: string, ordinal: number, bodyText: string | null = null): StepCopy => ({
  claim: { tenantId: "acme", runId, seq: 1, token: "t" },
  ordinal,
  call: "c",
  outcome: "ok",
  tries: 1,
  startedAt: at,
  completedAt: at,
  bodyText,
  bodyDigest: null,
});

function made(
  write: (copies: readonly StepCopy[]) => Promise<number>,
  bounds = { copies: 1_000, bytes: 1e6 },
) {
  const warn = vi.fn<Logger["warn"]>();
  const silent = () => undefined;
  const log: Logger = { debug: silent, info: silent, warn, error: silent };
  const batches: number[][] = [];
  const copySteps = (copies: readonly StepCopy[]) => {
    batches.push(copies.map(({ ordinal }) => ordinal ?? 0));
    return write(copies);
  };
  const copies = new StepCopies({ ledger: { evidence: { copySteps } }, log, bounds });
  return { copies, batches, log, lost: () => warn.mock.calls.map(([, fields]) => fields) };
}
const written = (copies: readonly StepCopy[]) => Promise.resolve(copies.length);

test("writes in order, several a statement, one statement at a time over all runs", async () => {
  let [now, most] = [0, 0];
  const { copies, batches, log, lost } = made(async (batch) => {
    most = Math.max(most, (now += 1));
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return batch.length;
  });
  for (let ordinal = 1; ordinal <= 250; ordinal += 1)
    copies.add(copy(ordinal % 2 === 0 ? "a" : "b", ordinal));
  await Promise.all(["a", "b"].map((runId) => copies.drain({ runId }, 60_000, log)));
  expect(batches.flat()).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
  expect(batches.map((batch) => batch.length)).toEqual([100, 100, 50]);
  expect([most, lost()]).toEqual([1, []]);
});

test.each([
  ["number", { copies: 3, bytes: 1e6 }, null],
  ["bytes", { copies: 1_000, bytes: 3_700 }, "x".repeat(1_000)],
])(
  "keeps no more than its bound of %s: what comes beyond is lost, and warned of once",
  async (_, bounds, body) => {
    const { copies, batches, log, lost } = made(written, bounds);
    for (let ordinal = 1; ordinal <= 9; ordinal += 1) copies.add(copy("a", ordinal, body));
    await copies.drain({ runId: "a" }, 60_000, log);
    await copies.drain({ runId: "a" }, 60_000, log);
    expect(batches).toEqual([[1, 2, 3]]);
    expect(lost()).toEqual([{ count: 6, error: "too many wait to be written" }]);
  },
);

test("gives up what is not written in time, and only that of the run that does not wait", async () => {
  const answer = Promise.withResolvers<number>();
  const { copies, batches, log, lost } = made(() => answer.promise);
  copies.add(copy("a", 1));
  const first = copies.drain({ runId: "a" }, 0, log);
  copies.add(copy("a", 2));
  copies.add(copy("b", 3));
  await first;
  expect(lost()).toEqual([{ count: 2, error: "they were not written in time" }]);
  answer.resolve(1);
  await copies.drain({ runId: "b" }, 60_000, log);
  expect(batches).toEqual([[1], [3]]);
  expect(lost()).toHaveLength(1);
});

test("a statement that fails loses its own copies, and no later ones", async () => {
  let fails = true;
  const { copies, batches, log, lost } = made((batch) =>
    fails ? Promise.reject(new Error("down")) : written(batch),
  );
  copies.add(copy("a", 1));
  await copies.drain({ runId: "a" }, 60_000, log);
  fails = false;
  copies.add(copy("a", 2));
  await copies.drain({ runId: "a" }, 60_000, log);
  expect(batches).toEqual([[1], [2]]);
  expect(lost()).toEqual([{ count: 1, error: "Error" }]);
});

test("writes the few that nobody waits for after a while", async () => {
  vi.useFakeTimers();
  try {
    const { copies, batches } = made(written);
    copies.add(copy("a", 1));
    copies.add(copy("a", 2));
    expect(batches).toEqual([]);
    await vi.runAllTimersAsync();
    expect(batches).toEqual([[1, 2]]);
  } finally {
    vi.useRealTimers();
  }
});
