import { GhoulsError } from "./errors.ts";
import type { RunStatus } from "./transitions.ts";

/** The digests that workflows of a build have, and those of before that they accept. */
export function carriedBy(
  workflows: readonly {
    readonly name: string;
    readonly digest: string;
    readonly accepts: readonly string[];
  }[],
): { readonly name: string; readonly digest: string }[] {
  return workflows.flatMap(({ name, digest, accepts }) =>
    [digest, ...accepts].map((one) => ({ name, digest: one })),
  );
}

/** The check of what a build lacks. It is about a deployment, and no contradiction of the ledger. */
export const STRANDED_CHECK = "every open run has its code in this build or a release";

/** What became of the run of a fault. "made": it was quarantined for it; "standing": it was in quarantine; null: not yet. */
export type FaultQuarantine = "made" | "standing" | "ended" | "absent";

/** Something that a judgement has found. It stands until it is gone. */
export interface IntegrityFault {
  readonly faultId: string;
  /** Which check has found it. */
  readonly check: string;
  /** Null where it belongs to the deployment. */
  readonly tenantId: string | null;
  readonly runId: string | null;
  /** What tells it from others of its check: a run, a workflow pin, a capacity. */
  readonly subject: string;
  readonly detail: string;
  readonly foundAt: Date;
  readonly foundBy: string;
  readonly seenAt: Date;
  readonly goneAt: Date | null;
  readonly quarantine: FaultQuarantine | null;
  /** Who knows of it, and why it may stand. */
  readonly acknowledged: { readonly by: string; readonly reason: string; readonly at: Date } | null;
}

/** What a judgement has seen of the runs of one status. */
export interface JudgedStatus {
  readonly status: RunStatus;
  readonly runs: number;
  /** Those that every check looks at: some leave out what is in quarantine. */
  readonly checked: number;
  /** Those with a fault that stands. */
  readonly faulty: number;
}

/** The answer of a judgement of the ledger (design.md §3, Judgement at start). */
export interface Judgement {
  /** Integrity checks that were evaluated. */
  readonly checks: number;
  /** Whether it was told which code there is, and has looked for runs without theirs. */
  readonly strandedJudged: boolean;
  readonly states: readonly JudgedStatus[];
  /** Terminal records that were missing, and have been written. */
  readonly repaired: number;
  readonly newFaults: number;
  readonly goneFaults: number;
  /** Runs that it has quarantined. */
  readonly quarantined: number;
  /** Faults that stand and somebody knows of; the oldest, and how many there are. */
  readonly acknowledged: FaultList;
  /** Those that nobody has acknowledged: they stop a start and a deploy. */
  readonly refused: FaultList;
}

export interface FaultList {
  readonly count: number;
  readonly first: readonly IntegrityFault[];
}

/** The table of a judgement, for people: what was judged, what was repaired, what is refused. */
export function judgementLines(judged: Judgement): string[] {
  return [...judgementSummary(judged), ...faultLines(judged.refused)];
}

/** The same without the list of what is refused, for whoever tells that as the reason of a refusal. */
export function judgementSummary(judged: Judgement): string[] {
  const { checks, states, repaired, newFaults, goneFaults, quarantined, acknowledged, refused } = judged;
  const rows = [
    ["STATUS", "RUNS", "CHECKED", "FAULTY"],
    ...states.map((one) => [one.status, String(one.runs), String(one.checked), String(one.faulty)]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
  return [
    ...rows.map((row) => line(row).join("  ").trimEnd()),
    "",
    `judged: ${checks} checks; ${judged.strandedJudged ? "every open run was looked for in this build" : "runs without their code were not looked for"}`,
    `repaired: ${count(repaired, "terminal record")} written`,
    `found: ${newFaults} new, ${goneFaults} gone; ${count(quarantined, "run")} quarantined`,
    `acknowledged: ${acknowledged.count}`,
    ...faultLines(acknowledged),
    `refused: ${refused.count}`,
  ];
}

function faultLines({ count: all, first }: FaultList): string[] {
  return [
    ...first.flatMap(({ faultId, check, tenantId, subject, detail, acknowledged }) => [
      `  ${faultId}  not so: ${check}`,
      `    ${tenantId === null ? "" : `${tenantId} `}${subject}: ${detail}`,
      ...(acknowledged === null
        ? []
        : [`    ${acknowledged.at.toISOString()} by ${acknowledged.by}: ${acknowledged.reason}`]),
    ]),
    ...(all > first.length ? [`  and ${all - first.length} more`] : []),
  ];
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** What a person does about runs whose code a build lacks, each way in a sentence. */
const STRANDED_FIX =
  "Runs without their code: put their digest into `accepts` of a workflow that may carry them on; or wait until they have ended; " +
  "or cancel them (`ghouls cancel --workflow <name> --reason <text>`); or acknowledge, and they wait until a later build has their code.";

/** How a refusal is told, and what is done about it. */
export interface RefusalWords {
  /** What does not happen, such as "no code is switched". */
  readonly stops: string;
  /** The command that acknowledges, up to the fault. */
  readonly acknowledge: string;
  /** What is done then, such as "deploy again". */
  readonly next: string;
}

/**
 * The refusal of a judgement, with a line for each fault; undefined where nothing is refused. It tells ids and pins alone: it
 * ends in a deploy's log.
 */
export function refusalOf(judged: Judgement, words: RefusalWords): GhoulsError | undefined {
  const { count: all, first } = judged.refused;
  if (all === 0) return undefined;
  const checks = [...new Set(first.map(({ check }) => check))];
  const contradicts = checks.some((check) => check !== STRANDED_CHECK);
  const what = contradicts
    ? "the ledger contradicts itself"
    : "open runs have their code neither in this build nor in a release";
  return new GhoulsError(
    "integrity_fault",
    `${what}, so ${words.stops}: ${checks.map((check) => inWords(check, first)).join("; ")}`,
    {
      fix: [
        ...(contradicts
          ? ["Look for each fault in the runbook (RUNBOOK.md of the package ghouls), and settle it."]
          : []),
        ...(checks.includes(STRANDED_CHECK) ? [STRANDED_FIX] : []),
        `To let one stand: ${words.acknowledge} <fault> --reason "<why>"; then ${words.next}.`,
      ].join(" "),
      issues: [
        ...first.map(({ faultId, check, subject, detail }) => ({
          path: faultId,
          message: `not so: ${check} (${subject}): ${detail}`,
        })),
        ...(all > first.length ? [{ path: "…", message: `and ${all - first.length} more` }] : []),
      ],
    },
  );
}

function inWords(check: string, faults: readonly IntegrityFault[]): string {
  const subjects = faults.filter((fault) => fault.check === check).map(({ subject }) => subject);
  return `not so: ${check} (${subjects.slice(0, 3).join(", ")}${subjects.length > 3 ? ", …" : ""})`;
}
