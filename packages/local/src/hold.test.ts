import { afterEach, expect, test, vi } from "vitest";
import { holdLeases } from "./hold.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Holds with a ledger that answers when the test says so. */
function hold() {
  vi.useFakeTimers();
  const beats: { readonly seconds: number; readonly answer: PromiseWithResolvers<number> }[] = [];
  const logged: string[] = [];
  const state = { busy: true };
  const beatOfWorker = (_worker: string, seconds: number) => {
    const answer = Promise.withResolvers<number>();
    beats.push({ seconds, answer });
    return answer.promise;
  };
  const stop = holdLeases(
    { worker: "runs-1", busy: () => state.busy },
    {
      ledger: { deliveries: { beatOfWorker } },
      leaseMs: 2_000,
      beatMs: 500,
      log: (text) => logged.push(text),
    },
  );
  return { beats, logged, stop, state };
}

test("beats for the worker until it is told to stop, one beat at a time", async () => {
  const { beats, stop } = hold();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(beats.map(({ seconds }) => seconds)).toEqual([2]);
  beats[0]?.answer.resolve(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(beats).toHaveLength(2);
  beats[1]?.answer.resolve(1);
  stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(beats).toHaveLength(2);
});

test("a worker between two invocations is not beaten for: what it has left unsettled has to lapse", async () => {
  const { beats, stop, state } = hold();
  state.busy = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(beats).toHaveLength(0);
  state.busy = true;
  await vi.advanceTimersByTimeAsync(500);
  expect(beats).toHaveLength(1);
  stop();
});

test.each([
  ["an error", new Error("out of reach"), "out of reach"],
  ["something else", "words", "words"],
])("a beat that fails with %s is told, and the next one is sent", async (_name, thrown, words) => {
  const { beats, logged, stop } = hold();
  await vi.advanceTimersByTimeAsync(500);
  beats[0]?.answer.reject(thrown);
  await vi.advanceTimersByTimeAsync(500);
  expect(logged).toEqual([`the leases of runs-1 were not held: ${words}`]);
  expect(beats).toHaveLength(2);
  stop();
});
