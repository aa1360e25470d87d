import type { StatementCounts } from "./counters.ts";
import type { Phase, Round } from "./phases.ts";
import type { Report, Summary } from "./report.ts";
import { spreadOf, type Spread } from "./spread.ts";

/** The report for people. */
export function table(report: Report): string {
  const { machine, options, before, after, growth } = report;
  return [
    `${machine.cpus} x ${machine.cpu}, Node ${machine.node}, PostgreSQL ${machine.postgres} (fsync ${machine.fsync}, synchronous_commit ${machine.synchronousCommit})`,
    `API process (createFetch over HTTP, ${options.inFlight} requests open), SQS process, mapping, ${options.workers} workers with ${options.batch} messages each; ${report.connections} connections, the floor has as many`,
    `load of the machine before: ${machine.loadBefore.toFixed(1)}; took ${report.seconds.toFixed(0)} s`,
    "",
    `Runs a second: median (min to max) of ${before.rounds.length} rounds, and of ${after.rounds.length} beside ${options.finished} finished and ${options.waiting} waiting runs`,
    ...grid([
      ["", "before", "to floor", "grown", "to floor", "grown/before", "and to floor"],
      rateRow("floor: admit, claim, settle", report, "floor", undefined),
      rateRow("admissions alone, published", report, "admissions", "admissionsToFloor"),
      rateRow("zero-step, end to end", report, "zeroStep", "zeroStepToFloor"),
      rateRow("ten-step, end to end", report, "tenStep", "tenStepToFloor"),
    ]),
    "",
    `Request sent to the first step's first line at ${options.rate} runs/s, ms`,
    ...grid([
      ["", "p50", "p99", "max", "runs"],
      ...(
        [
          ["before", before.latency],
          ["grown", after.latency],
        ] as const
      ).map(([name, one]) => [
        name,
        one.p50Ms.toFixed(0),
        one.p99Ms.toFixed(0),
        one.maxMs.toFixed(0),
        String(one.runs),
      ]),
    ]),
    `p50 grown/before ${growth.p50.toFixed(2)}`,
    "",
    "Statements per run, by pg_stat_statements, and commits that wrote",
    ...statementTable(report),
    "",
    "Processor time per run, ms (medians), and the share of the machine that went to others",
    ...cpuTable(before.rounds, after.rounds),
    "",
    "Time of a statement inside the server, ms (medians)",
    ...timeTable(report),
    "",
    `${report.lateness.timers} timers of 2 s, ${report.options.rate} set a second, came late by ${report.lateness.p50Ms.toFixed(0)} ms (p50), ${report.lateness.p99Ms.toFixed(0)} ms (p99), ${report.lateness.maxMs.toFixed(0)} ms at most`,
    `a hop that replays ${report.hops.entries} entries and settles takes ${report.hops.long.median.toFixed(0)} ms (${report.hops.long.min.toFixed(0)}-${report.hops.long.max.toFixed(0)}), with one entry ${report.hops.short.median.toFixed(0)} ms`,
    "",
    `Looks of the reconciler beside ${report.parked.parked} parked runs of which none is due, ms: median (min to max)`,
    ...looks(report.parked.idle),
    `${report.parked.due} of them due: ${report.parked.resumedPerSecond.toFixed(0)} brought back a second, one after another`,
    "",
    `The same of evidence and retention beside ${report.ended.ended} ended runs of which none is due`,
    ...looks(report.ended.idle),
    `${report.ended.due} of them due: ${report.ended.sealedPerSecond.toFixed(0)} recorded and sealed a second, ${report.ended.emptiedPerSecond.toFixed(0)} emptied`,
  ].join("\n");
}

function looks(idle: Readonly<Record<string, Spread>>): string[] {
  return grid(
    Object.entries(idle).map(([look, { median: middle, min, max }]) => [
      look,
      `${middle.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`,
    ]),
  );
}

function rateRow(
  name: string,
  report: Report,
  rate: keyof Round,
  ratio: keyof Summary | undefined,
): string[] {
  const { before, after, growth } = report;
  const rates = (spread: Spread) =>
    `${spread.median.toFixed(0)} (${spread.min.toFixed(0)}-${spread.max.toFixed(0)})`;
  const ratios = (spread: Spread) =>
    `${spread.median.toFixed(2)} (${spread.min.toFixed(2)}-${spread.max.toFixed(2)})`;
  return [
    name,
    rates(before.summary[rate]),
    ratio === undefined ? "" : ratios(before.summary[ratio]),
    rates(after.summary[rate]),
    ratio === undefined ? "" : ratios(after.summary[ratio]),
    growth[rate].toFixed(2),
    ratio === undefined ? "" : growth[ratio].toFixed(2),
  ];
}

/** Left out: what belongs to no run. */
const PER_RUN =
  /^(runs\.admit|deliveries\.(claim|settle|mark-published|unclaimed|claimed-by-token)|journal\.|intents\.|evidence\.)/;

function statementTable(report: Report): string[] {
  const last = report.before.rounds.at(-1);
  const columns: readonly (readonly [string, Phase | undefined])[] = [
    ["zero-step alone", report.alone.zeroStep],
    ["under load", last?.zeroStep],
    ["ten-step alone", report.alone.tenStep],
    ["under load", last?.tenStep],
  ];
  const tags = new Set(columns.flatMap(([, phase]) => Object.keys(phase?.statements ?? {})));
  const row = (name: string, value: (phase: Phase) => number) => [
    name,
    ...columns.map(([, phase]) => (phase === undefined ? "" : value(phase).toFixed(2))),
  ];
  return grid([
    ["", ...columns.map(([name]) => name)],
    ...[...tags]
      .filter((tag) => PER_RUN.test(tag))
      .toSorted()
      .map((tag) => row(tag, (phase) => (phase.statements?.[tag]?.calls ?? 0) / phase.runs)),
    row("commits", (phase) => phase.commitsPerRun),
  ]);
}

function cpuTable(before: readonly Round[], after: readonly Round[]): string[] {
  const phases = ["floor", "admissions", "zeroStep", "tenStep"] as const;
  const names = Object.keys(before[0]?.zeroStep.cpuMsPerRun ?? {});
  const line = (rounds: readonly Round[], stage: string, phase: keyof Round) => {
    const over = (value: (one: Phase) => number) => median(rounds.map((round) => value(round[phase])));
    const cell = (name: string) =>
      figure(
        over((one) => one.cpuMsPerRun?.[name] ?? Number.NaN),
        2,
      );
    const all = over((one) => Object.values(one.cpuMsPerRun ?? {}).reduce((total, ms) => total + ms, 0));
    const foreign = over((one) => one.foreignShare ?? Number.NaN);
    return [`${phase}, ${stage}`, ...names.map(cell), figure(all, 2), figure(foreign, 2)];
  };
  return grid([
    ["", ...names, "all", "others"],
    ...phases.flatMap((phase) => [line(before, "before", phase), line(after, "grown", phase)]),
  ]);
}

function timeTable({ before, after }: Report): string[] {
  const timeOf = (rounds: readonly Round[], phase: keyof Round, tag: string) =>
    median(
      rounds.flatMap((round) => {
        const counts: StatementCounts = round[phase].statements ?? {};
        return counts[tag] === undefined ? [] : [counts[tag].meanMs];
      }),
    );
  const line = (phase: keyof Round, tag: string) => {
    const [plain, grown] = [timeOf(before.rounds, phase, tag), timeOf(after.rounds, phase, tag)];
    return [`${phase}: ${tag}`, figure(plain, 3), figure(grown, 3), figure(grown / plain, 2)];
  };
  return grid([
    ["", "before", "grown", "grown/before"],
    line("floor", "runs.admit"),
    line("floor", "deliveries.claim"),
    line("floor", "deliveries.settle"),
    line("zeroStep", "deliveries.claim"),
    line("zeroStep", "deliveries.mark-published"),
    line("tenStep", "journal.append"),
    line("tenStep", "deliveries.due-publications"),
    line("tenStep", "deliveries.lapsed"),
  ]);
}

/** Nothing where nothing was measured. */
function figure(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "-";
}

function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** Columns, the first to the left and the others to the right. */
export function grid(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_cell, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    `  ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  ")}`.trimEnd(),
  );
}
