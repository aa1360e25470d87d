import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { Phase } from "./phases.ts";
import type { Report } from "./report.ts";

/** A small bench in its own process: its rates say nothing here, what it counts is exact. */
let report: Report;

beforeAll(async () => {
  const script = fileURLToPath(new URL("bench.ts", import.meta.url));
  const child = spawn(process.execPath, [script, "--quick", "--json"], { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  expect([code, stderr]).toEqual([0, ""]);
  report = JSON.parse(stdout) as Report;
});

function calls({ statements }: Phase, tag: string): number {
  return statements?.[tag]?.calls ?? 0;
}

/** What a run sends for itself: all but publication marks, and what the reconciler asks. */
function ownCalls(phase: Phase): Record<string, number> {
  const others =
    /^(deliveries\.(mark-published|due-publications|lapsed|expired-holds)|(items|arms|attempts|children|seals|retention)\.due|evidence\.due-acts|seals\.(due-runs|take|make|check-position)|evidence\.judge-records|consents\.to-look-up|runs\.overdue|passes\.(read|note)|deadletters\.forget|ledger\.health)$/;
  return Object.fromEntries(
    Object.entries(phase.statements ?? {}).flatMap(([tag, count]) =>
      others.test(tag) ? [] : [[tag, count.calls]],
    ),
  );
}

describe("the statements of a run, counted by the server", () => {
  test("are its key, admit, claim, settle and record for one without steps, and a publication mark", () => {
    const phase = report.alone.zeroStep;
    const { runs } = phase;
    expect(ownCalls(phase)).toEqual({
      "keys.by-id": runs,
      "runs.admit": runs,
      "deliveries.claim": runs,
      "deliveries.settle": runs,
      "evidence.write-record": runs,
    });
    expect(calls(phase, "deliveries.mark-published")).toBeLessThanOrEqual(runs);
    expect(phase.commitsPerRun).toBe(4 + calls(phase, "deliveries.mark-published") / runs);
  });

  test("are one more for each step, and one for the copies of all of them", () => {
    const phase = report.alone.tenStep;
    const { runs } = phase;
    expect(ownCalls(phase)).toEqual({
      "keys.by-id": runs,
      "runs.admit": runs,
      "deliveries.claim": runs,
      "deliveries.settle": runs,
      "journal.append": 10 * runs,
      // All copies of a hop in one.
      "evidence.copy-steps": runs,
      "evidence.write-record": runs,
    });
    expect(calls(phase, "deliveries.mark-published")).toBeLessThanOrEqual(runs);
  });

  test("are fewer under load, where claims and publication marks travel in groups", () => {
    for (const { zeroStep, tenStep } of [...report.before.rounds, ...report.after.rounds]) {
      for (const phase of [zeroStep, tenStep]) {
        expect(calls(phase, "runs.admit")).toBe(phase.runs);
        expect(calls(phase, "deliveries.settle")).toBe(phase.runs);
        expect(phase.statements?.["deliveries.claim"]?.rows).toBe(phase.runs);
        expect(calls(phase, "deliveries.claim")).toBeLessThan(phase.runs);
        expect(calls(phase, "deliveries.mark-published")).toBeLessThan(phase.runs);
      }
      expect(calls(zeroStep, "journal.append")).toBe(0);
      expect(calls(tenStep, "journal.append")).toBe(10 * tenStep.runs);
    }
  });
});

test("a bench says how late timers come, and none comes early", () => {
  const { lateness, options } = report;
  expect(lateness.timers).toBe(options.timers);
  expect(lateness.p50Ms).toBeGreaterThanOrEqual(0);
  expect(lateness.maxMs).toBeGreaterThanOrEqual(lateness.p99Ms);
});

test("a bench says what a hop costs by the length of its journal", () => {
  const { hops, options } = report;
  expect(hops.entries).toBe(options.entries);
  expect(hops.long.min).toBeGreaterThan(0);
  expect(hops.short.min).toBeGreaterThan(0);
});

test("a bench says what the reconciler's looks cost beside parked runs, and brings back those that are due", () => {
  const { parked, options } = report;
  expect([parked.parked, parked.due]).toEqual([options.parked, options.parked / 10]);
  for (const spread of Object.values(parked.idle)) expect(spread.min).toBeGreaterThan(0);
  expect(parked.resumedPerSecond).toBeGreaterThan(0);
});

test("a bench says what the looks of evidence and retention cost beside ended runs, and does what is due", () => {
  const { ended, options } = report;
  expect([ended.ended, ended.due]).toEqual([options.ended, options.ended / 2]);
  for (const spread of Object.values(ended.idle)) expect(spread.min).toBeGreaterThan(0);
  expect(ended.sealedPerSecond).toBeGreaterThan(0);
  expect(ended.emptiedPerSecond).toBeGreaterThan(0);
});

test("a bench says on what it ran, its rates, their ratio to the floor, its latency, and the growth", () => {
  const { machine, options, before, after, growth } = report;
  expect([machine.fsync, machine.synchronousCommit]).toEqual(["on", "on"]);
  expect([before.rounds.length, after.rounds.length]).toEqual([options.rounds, options.grownRounds]);
  for (const { summary, latency } of [before, after]) {
    for (const spread of Object.values(summary)) {
      expect(spread.min).toBeGreaterThan(0);
      expect(spread.median).toBeGreaterThanOrEqual(spread.min);
      expect(spread.max).toBeGreaterThanOrEqual(spread.median);
    }
    expect(latency.runs).toBe(options.rate * options.latencySeconds);
    expect(latency.p50Ms).toBeGreaterThan(0);
    expect(latency.p99Ms).toBeGreaterThanOrEqual(latency.p50Ms);
  }
  for (const share of Object.values(growth)) expect(share).toBeGreaterThan(0);
});
