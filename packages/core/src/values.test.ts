import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RandomStream, callKey, describeCall, idempotencyKeyOf, type CallId } from "./call.ts";
import { durationMs, isDuration } from "./duration.ts";
import { describeFailure } from "./errors.ts";
import { formatMessage, isRunId, parseMessage } from "./message.ts";
import { delayAfterFailure, delayAfterPublication } from "./publication.ts";
import { resolveBackoff, retryDelayMs } from "./retry.ts";
import { queueUrlVariable } from "./settings.ts";

const runId = "0b6f7f6e-7d8d-4f5c-9a55-0d7d7c1f2a3b";

describe("a message", () => {
  test("names its delivery and comes back", () => {
    expect(parseMessage(formatMessage({ runId, enqueueSeq: 10 }))).toEqual({ runId, enqueueSeq: 10 });
  });

  test.each([
    "",
    "run:",
    `run:${runId}`,
    `run:${runId}:0`,
    `run:${runId}:1 `,
    `RUN:${runId}:1`,
    `run:${runId}:9999999999`,
    "{}",
  ])("%j is none of ours", (body) => {
    expect(parseMessage(body)).toBeUndefined();
  });

  test("of any text is parsed without an exception", () => {
    fc.assert(fc.property(fc.string(), (body) => void parseMessage(body)));
    expect(isRunId(runId.toUpperCase())).toBe(false);
  });
});

describe("a duration", () => {
  test.each([
    ["500ms", 500],
    ["90s", 90_000],
    ["15m", 900_000],
    ["2h", 7_200_000],
    ["3d", 259_200_000],
  ])("%s", (text, milliseconds) => {
    expect(durationMs(text)).toBe(milliseconds);
  });

  test.each(["", "1", "1.5s", "-1s", "1 s", "99999d", "1w", "s"])("%j is refused with the fix", (text) => {
    expect(isDuration(text)).toBe(false);
    expect(() => durationMs(text)).toThrow(/is not a duration/);
  });
});

describe("a call's identity", () => {
  const call: CallId = { epoch: 0, scope: "", kind: "step", name: 'a"b', nth: 1 };

  test("differs with each of its parts, and so does the key for other services", () => {
    const others: CallId[] = [
      { ...call, epoch: 1 },
      { ...call, scope: "x" },
      { ...call, name: "a" },
      { ...call, nth: 2 },
    ];
    for (const other of others) {
      expect(callKey(other)).not.toBe(callKey(call));
      expect(idempotencyKeyOf(runId, other)).not.toBe(idempotencyKeyOf(runId, call));
    }
    expect(idempotencyKeyOf(runId, { ...call })).toBe(idempotencyKeyOf(runId, call));
    expect(idempotencyKeyOf("another", call)).not.toBe(idempotencyKeyOf(runId, call));
  });

  test("is told to people with its use and scope", () => {
    expect(describeCall(call)).toBe('step "a"b"');
    expect(describeCall({ ...call, nth: 2, scope: "map/3" })).toBe('step "a"b" (use 2) in map/3');
  });

  test("a run's chance is the same in every hop and another's is not", () => {
    const draw = (id: string) => {
      const stream = new RandomStream(id, 0, "");
      return [stream.random(), stream.uuid(), stream.random()];
    };
    expect(draw(runId)).toEqual(draw(runId));
    expect(draw(runId)).not.toEqual(draw("another"));
    expect(draw(runId)[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(draw(runId)[0]).not.toBe(draw(runId)[2]);
  });
});

describe("the delay of a retry", () => {
  test("grows by its factor, stays below its cap and is spread over its upper half", () => {
    const backoff = resolveBackoff({ initial: "100ms", factor: 3, max: "1s" });
    expect([2, 3, 4, 5].map((next) => retryDelayMs(backoff, next, 1))).toEqual([100, 300, 900, 1_000]);
    expect(retryDelayMs(backoff, 2, 0)).toBe(50);
  });

  test("is ten seconds at most, unless its author wants longer ones", () => {
    expect(resolveBackoff({ initial: "1s", factor: 100 }).maxMs).toBe(10_000);
    expect(resolveBackoff({ initial: "1h" }).maxMs).toBe(3_600_000);
    expect(resolveBackoff({ initial: "1s", max: "2d" }).maxMs).toBe(172_800_000);
    expect(() => resolveBackoff({ factor: 0 })).toThrow(/factor/);
  });
});

test("publication delays grow and stay at their last value", () => {
  expect([0, 1, 2, 50].map(delayAfterPublication)).toEqual([60, 60, 120, 3_600]);
  expect([1, 2, 50].map(delayAfterFailure)).toEqual([5, 10, 300]);
});

describe("whatever is thrown is described within bounds", () => {
  test.each([
    ["a string", "no", "a string was thrown: no"],
    ["undefined", undefined, "undefined was thrown, not an Error"],
    ["null", null, "null was thrown, not an Error"],
    ["an object", { code: 7n }, 'a value that is no Error was thrown: {"code":"7"}'],
    ["a number", 7, "a value that is no Error was thrown: 7"],
  ])("%s", (_name, thrown, message) => {
    expect(describeFailure(thrown)).toMatchObject({ name: "Error", message });
  });

  test("five megabytes become two thousand characters and a count", () => {
    const failure = describeFailure(new Error("x".repeat(5_000_000)));
    expect(failure.message.length).toBeLessThan(2_100);
    expect(failure.message).toContain("4998000 more characters");
    expect(failure.stack?.length).toBeLessThan(6_100);
  });

  test("a value that refuses to be looked at", () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error("no");
        },
      },
    );
    expect(describeFailure(hostile).message).toBe(
      "a value of type object that cannot be described was thrown",
    );
  });

  test("lone surrogates do not reach the ledger", () => {
    expect(describeFailure(new Error("\ud800")).message.isWellFormed()).toBe(true);
  });
});

test("a queue's variable is its name in capitals", () => {
  expect(queueUrlVariable("long-rites")).toBe("GHOULS_QUEUE_LONG_RITES_URL");
});
