import { expect, test } from "vitest";
import { createLowering } from "./lowering.ts";

interface Call {
  readonly nowMs: number;
  readonly dueAtMs: number;
  answer(): void;
  fail(): void;
}

/** A lowering whose writes are answered by the test, over clocks that it moves. */
function lowering(patienceMs = 60_000) {
  const clock = { wall: 1_000_000, monotonic: 5_000 };
  const calls: Call[] = [];
  const warnings: string[] = [];
  const ignore = () => undefined;
  const lower = createLowering({
    hint: {
      lower: (nowMs, dueAtMs) =>
        new Promise<void>((resolve, reject) => {
          calls.push({ nowMs, dueAtMs, answer: resolve, fail: () => reject(new Error("throttled")) });
        }),
    },
    clock: { wallMs: () => clock.wall, monotonicMs: () => clock.monotonic },
    log: { debug: ignore, info: ignore, error: ignore, warn: (message) => void warnings.push(message) },
    patienceMs,
  });
  return { lower, calls, clock, warnings };
}

async function lowered(state: ReturnType<typeof lowering>): Promise<void> {
  const done = state.lower();
  state.calls.at(-1)?.answer();
  await done;
}

test("a hundred openings at once share one write, and each waits for it", async () => {
  const { lower, calls } = lowering();
  let done = 0;
  const all = Array.from({ length: 100 }, () => lower().then(() => (done += 1)));
  expect(calls).toMatchObject([{ nowMs: 1_000_000, dueAtMs: 1_000_000 }]);
  expect(done).toBe(0);
  calls[0]?.answer();
  await Promise.all(all);
  expect(done).toBe(100);
});

test("a lowering is remembered for 30 seconds from its beginning, not longer", async () => {
  const state = lowering();
  const first = state.lower();
  state.clock.wall += 10_000;
  state.clock.monotonic += 10_000;
  state.calls[0]?.answer();
  await first;
  for (const elapsed of [10_000, 9_999]) {
    state.clock.wall += elapsed;
    state.clock.monotonic += elapsed;
    await state.lower();
  }
  expect(state.calls).toHaveLength(1);
  state.clock.wall += 1;
  state.clock.monotonic += 1;
  await lowered(state);
  expect(state.calls).toHaveLength(2);
});

test("a frozen process, whose monotonic clock stood still, does not rely on an old lowering", async () => {
  const state = lowering();
  await lowered(state);
  state.clock.wall += 600_000;
  await lowered(state);
  expect(state.calls).toHaveLength(2);
});

test("nor does one whose wall clock was put back", async () => {
  const state = lowering();
  await lowered(state);
  state.clock.wall -= 1;
  await lowered(state);
  state.clock.monotonic += 30_000;
  await lowered(state);
  expect(state.calls).toHaveLength(3);
});

test("a write that fails stops nothing, is said, and is not remembered", async () => {
  const state = lowering();
  const failing = state.lower();
  state.calls[0]?.fail();
  await failing;
  expect(state.warnings).toHaveLength(1);
  await lowered(state);
  expect(state.calls).toHaveLength(2);
});

test("a write without an answer is waited for within a bound, and its late failure is nobody's", async () => {
  const state = lowering(5);
  await state.lower();
  expect(state.warnings).toHaveLength(1);
  state.calls[0]?.fail();
  await lowered(state);
  expect(state.calls).toHaveLength(2);
});
