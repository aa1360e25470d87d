import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { FaultPoint } from "@ghouls/core";
import { testDynamo } from "../../../test/support/dynamodb.ts";

const dynamo = await testDynamo();
const passed: FaultPoint[] = [];
const hint = dynamo.open((point) => void passed.push(point));
const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

beforeEach(async () => {
  dynamo.be("up");
  passed.length = 0;
  await dynamo.forget();
});

describe("a lowering", () => {
  test("writes the hint where there is none", async () => {
    await hint.lower(NOW, NOW + 5);
    expect(await hint.read()).toEqual({ version: NOW + 1, dueAtMs: NOW + 5, openedAtMs: NOW });
  });

  test("never makes the hint later, and moves its version in any case", async () => {
    await hint.lower(NOW, NOW);
    await hint.lower(NOW + 1_000, NOW + HOUR);
    expect(await hint.read()).toEqual({ version: NOW + 2, dueAtMs: NOW, openedAtMs: NOW + 1_000 });
  });

  test("makes a raised hint earlier", async () => {
    await hint.raise(undefined, NOW, NOW + HOUR);
    await hint.lower(NOW + 1_000, NOW + 1_000);
    expect(await hint.read()).toEqual({
      version: NOW + 1,
      dueAtMs: NOW + 1_000,
      openedAtMs: NOW + 1_000,
    });
  });

  test("gives up after a bound where the hint moves under each of its tries", async () => {
    const moving = dynamo.open();
    // An item that is neither later nor earlier: no condition of a lowering holds.
    await dynamo.put({ due_at: "soon", version: 1 });
    const before = dynamo.calls.length;
    await expect(moving.lower(NOW, NOW)).rejects.toThrow(/moved under each/);
    expect(dynamo.calls.length - before).toBe(6);
  });

  test("of twenty processes at once is twenty versions: none is lost", async () => {
    const processes = Array.from({ length: 20 }, () => dynamo.open());
    await Promise.all(processes.map((one, index) => one.lower(NOW, NOW + index)));
    const state = await hint.read();
    expect(state).toMatchObject({ dueAtMs: NOW, openedAtMs: NOW });
    // More where an answer came too late and the same lowering was sent again, which does no harm.
    expect(state?.version).toBeGreaterThanOrEqual(NOW + 20);
  });
});

describe("a raise", () => {
  test("of the version that was read writes the later time, and when somebody looked", async () => {
    await hint.lower(NOW, NOW);
    const state = await hint.read();
    expect(await hint.raise(state?.version, NOW + 1, NOW + HOUR)).toBe(true);
    expect(await dynamo.item()).toEqual({
      due_at: NOW + HOUR,
      opened_at: NOW,
      version: state?.version ?? 0,
      connected_at: NOW + 1,
    });
  });

  test("after a lowering loses, also where that changed no time", async () => {
    await hint.lower(NOW, NOW);
    const before = await hint.read();
    await hint.lower(NOW, NOW);
    expect(await hint.raise(before?.version, NOW, NOW + HOUR)).toBe(false);
    expect((await hint.read())?.dueAtMs).toBe(NOW);
  });

  test("of a hint that was absent loses to whoever has written it since", async () => {
    expect(await hint.read()).toBeUndefined();
    await hint.lower(NOW, NOW);
    expect(await hint.raise(undefined, NOW, NOW + HOUR)).toBe(false);
  });

  test("of a hint that was deleted and written again meanwhile loses: it is another one", async () => {
    await hint.lower(NOW, NOW);
    const before = await hint.read();
    await dynamo.forget();
    await hint.lower(NOW + 5_000, NOW + 5_000);
    expect(await hint.raise(before?.version, NOW, NOW + HOUR)).toBe(false);
  });

  test("does nothing where the hint was deleted meanwhile: the next invocation looks", async () => {
    await hint.lower(NOW, NOW);
    const before = await hint.read();
    await dynamo.forget();
    expect(await hint.raise(before?.version, NOW, NOW + HOUR)).toBe(false);
    expect(await dynamo.item()).toBeUndefined();
  });
});

test("in any order of lowerings and raises, the hint is never later than what was lowered since it was read", async () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant("lower" as const), due: fc.integer({ min: 0, max: 100 }) }),
    fc.record({ kind: fc.constant("read" as const) }),
    fc.record({ kind: fc.constant("raise" as const), due: fc.integer({ min: 0, max: 100 }) }),
    fc.record({ kind: fc.constant("forget" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
      await dynamo.forget();
      let [at, read] = [NOW, undefined as Awaited<ReturnType<typeof hint.read>>];
      let lowest = Number.POSITIVE_INFINITY;
      let there = false;
      for (const one of operations) {
        at += 1;
        if (one.kind === "read") {
          read = await hint.read();
          lowest = Number.POSITIVE_INFINITY;
        } else if (one.kind === "lower") {
          await hint.lower(at, NOW + one.due);
          lowest = Math.min(lowest, NOW + one.due);
          there = true;
        } else if (one.kind === "forget") {
          // What was lowered is lost with the item; that costs the hour at most.
          await dynamo.forget();
          [there, lowest] = [false, Number.POSITIVE_INFINITY];
        } else if (await hint.raise(read?.version, at, NOW + one.due)) {
          there = true;
          expect(lowest).toBe(Number.POSITIVE_INFINITY);
        }
        const state = await dynamo.item();
        expect(state !== undefined).toBe(there);
        if (state !== undefined && lowest < Number.POSITIVE_INFINITY)
          expect(state["due_at"]).toBeLessThanOrEqual(lowest);
      }
    }),
    { numRuns: 60 },
  );
});

describe("a server that", () => {
  test("throttles or is silent makes every call reject in time", async () => {
    for (const mode of ["throttled", "silent"] as const) {
      dynamo.be(mode);
      await expect(hint.read()).rejects.toThrow();
      await expect(hint.lower(NOW, NOW)).rejects.toThrow();
      await expect(hint.raise(undefined, NOW, NOW)).rejects.toThrow();
    }
  });
});

test("an item that is not ours is no hint", async () => {
  for (const attributes of [
    { version: 1 },
    { due_at: 5 },
    { due_at: "soon", version: 1 },
    { due_at: 1.5, version: 1 },
  ] as Record<string, number | string>[]) {
    await dynamo.put(attributes);
    await expect(hint.read()).rejects.toThrow(TypeError);
  }
});

test("every call passes its fault points", async () => {
  await hint.read();
  await hint.lower(NOW, NOW);
  await hint.raise(1, NOW, NOW);
  expect(passed).toEqual([
    "hint.before-read",
    "hint.after-read",
    "hint.before-lower",
    "hint.after-lower",
    "hint.before-raise",
    "hint.after-raise",
  ]);
});
