import { counting, type StatementCounts } from "./counters.ts";
import type { Endings } from "./endings.ts";
import { clearIdle, settleDown } from "./growth.ts";
import type { Options } from "./options.ts";
import type { Parts } from "./parts.ts";

export type WorkflowName = "zero-step" | "ten-step";

/** What one measured phase came to. */
export interface Phase {
  readonly runs: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly statements: StatementCounts | null;
  readonly commitsPerRun: number;
  readonly cpuMsPerRun: Readonly<Record<string, number>> | null;
  readonly foreignShare: number | null;
}

/** One of each, on the same data. */
export interface Round {
  readonly floor: Phase;
  readonly admissions: Phase;
  readonly zeroStep: Phase;
  readonly tenStep: Phase;
}

export interface Latency {
  readonly workflow: WorkflowName;
  readonly runs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The longest delay of the load itself: a request that was sent later than it should have been. */
  readonly latestMs: number;
}

/** What a bench works with. */
export interface Bench {
  readonly options: Options;
  readonly parts: Parts;
  readonly endings: Endings;
}

/** Runs of each workflow that take about the time of a phase. */
export type Sizes = Readonly<Record<WorkflowName, number>>;

async function measured(
  { parts }: Bench,
  act: () => Promise<{ readonly runs: number; readonly seconds: number }>,
): Promise<Phase> {
  const { value, statements, commits, cpuMs, foreignShare } = await counting(parts, act);
  const { runs, seconds } = value;
  return {
    runs,
    seconds,
    perSecond: runs / seconds,
    statements,
    commitsPerRun: commits / runs,
    foreignShare,
    cpuMsPerRun:
      cpuMs === null
        ? null
        : Object.fromEntries(Object.entries(cpuMs).map(([name, ms]) => [name, ms / runs])),
  };
}

/** Admits runs as fast as they are answered, and waits for the end of the last. */
async function endToEnd(bench: Bench, workflow: WorkflowName, runs: number, inFlight: number) {
  const { parts, endings } = bench;
  const goal = endings.count() + runs;
  const started = performance.now();
  const order = { type: "admit", workflow, queue: "runs", inFlight, count: runs, seconds: 600 } as const;
  await Promise.all([parts.order(order), endings.until(goal)]);
  return { runs, seconds: (performance.now() - started) / 1_000 };
}

/** Starts every worker and warms all of them up; answers how many runs a phase should have. */
export async function warmUp(bench: Bench): Promise<Sizes> {
  const { parts, options } = bench;
  for (let tries = 0; tries < 20; tries += 1) {
    await endToEnd(bench, "ten-step", 60, options.inFlight);
    if (parts.workers() >= options.workers) break;
  }
  const size = async (workflow: WorkflowName): Promise<number> => {
    const { runs, seconds } = await endToEnd(
      bench,
      workflow,
      Math.min(150, 40 * options.seconds),
      options.inFlight,
    );
    return Math.max(50, Math.round((runs / seconds) * options.seconds));
  };
  return { "zero-step": await size("zero-step"), "ten-step": await size("ten-step") };
}

/** The floor, admission by itself, and both workflows from the request to the end. */
export async function round(bench: Bench, sizes: Sizes): Promise<Round> {
  const { parts, options } = bench;
  const { seconds, inFlight } = options;
  await settleDown(parts);
  const floor = await measured(bench, () =>
    parts.order({ type: "floor", connections: parts.connections, seconds }),
  );
  const zeroStep = await measured(bench, () => endToEnd(bench, "zero-step", sizes["zero-step"], inFlight));
  const tenStep = await measured(bench, () => endToEnd(bench, "ten-step", sizes["ten-step"], inFlight));
  const idle = { type: "admit", workflow: "zero-step", queue: "idle", inFlight, seconds } as const;
  const admissions = await measured(bench, () => parts.order({ ...idle, count: Number.MAX_SAFE_INTEGER }));
  await Promise.all([clearIdle(parts), parts.purge("idle")]);
  return { floor, admissions, zeroStep, tenStep };
}

/** Runs one after another, each alone: what the protocol sends for one run. */
export async function alone(bench: Bench, workflow: WorkflowName): Promise<Phase> {
  await settleDown(bench.parts);
  return measured(bench, async () => {
    const started = performance.now();
    for (let at = 0; at < bench.options.counted; at += 1) await endToEnd(bench, workflow, 1, 1);
    return { runs: bench.options.counted, seconds: (performance.now() - started) / 1_000 };
  });
}

/** Admits at a rate; the result of the first step is the time at which it ran. */
export async function latency(bench: Bench): Promise<Latency> {
  const { parts, endings, options } = bench;
  const count = options.rate * options.latencySeconds;
  const goal = endings.count() + count;
  const [{ sent = [], runs, seconds }] = await Promise.all([
    parts.order({ type: "pace", workflow: "ten-step", rate: options.rate, count }),
    endings.until(goal),
  ]);
  const { rows } = await parts.admin.query<{ run_id: string; at: string }>(
    "select run_id, result_text as at from ghouls.journal where run_id = any($1::uuid[]) and ordinal = 1",
    [sent.map(({ runId }) => runId)],
  );
  const firstLine = new Map(rows.map((row) => [row.run_id, Number(row.at)]));
  const took = sent
    .map(({ runId, sentAtMs }) => (firstLine.get(runId) ?? Number.NaN) - sentAtMs)
    .toSorted((a, b) => a - b);
  const percentile = (share: number) => took[Math.max(0, Math.ceil(took.length * share) - 1)] ?? Number.NaN;
  return {
    workflow: "ten-step",
    runs,
    perSecond: runs / seconds,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    maxMs: percentile(1),
    latestMs: Math.max(...sent.map(({ lateMs }) => lateMs)),
  };
}
