import {
  durationMs,
  type Duration,
  type Egress,
  type JobAnswer,
  type JobError,
  type JobQuestion,
  type JobReport,
  type JobSubmission,
} from "@ghouls/core";

/** How a job ends at a service, by itself. Services that no entry names are asked as they are configured. */
export type ScriptedJob = {
  /** Its name in the configuration. */
  readonly service: string;
  /** Counted from the submission, by the ledger's clock; at once where absent. */
  readonly after?: Duration;
} & (
  | { readonly result: unknown }
  | { readonly error: JobError }
  /** It runs until it is cancelled. */
  | { readonly never: true }
);

interface Job {
  readonly rule: ScriptedJob;
  readonly submission: JobSubmission;
  readonly sinceMs: number;
  cancelled: boolean;
}

/**
 * The services of a test's script: each keeps its keys apart, finds what it has taken, cancels what runs, and calls back when
 * a job has ended.
 */
export class ScriptedJobs implements Egress {
  readonly #others: Egress;
  readonly #nowMs: () => Promise<number>;
  readonly #jobs = new Map<string, Job>();
  #rules: ScriptedJob[] = [];

  constructor(others: Egress, nowMs: () => Promise<number>) {
    this.#others = others;
    this.#nowMs = nowMs;
  }

  add(rules: readonly ScriptedJob[]): void {
    this.#rules.push(...rules);
  }

  reset(): void {
    this.#rules = [];
    this.#jobs.clear();
  }

  async ask(service: string, question: JobQuestion, timeoutMs: number): Promise<JobAnswer> {
    const rules = this.#rules.filter((rule) => rule.service === service);
    if (rules.length === 0) return this.#others.ask(service, question, timeoutMs);
    const { idempotencyKey: key } = question.job;
    const now = await this.#nowMs();
    if (question.kind === "submit" && !this.#jobs.has(key)) {
      // Of one service, the first entry is its first job, the next its next one, and the last all further ones.
      const before = [...this.#jobs.values()].filter((job) => job.rule.service === service).length;
      const rule = rules[Math.min(before, rules.length - 1)] as ScriptedJob;
      this.#jobs.set(key, { rule, submission: question.job, sinceMs: now, cancelled: false });
    }
    const job = this.#jobs.get(key);
    if (job === undefined) return { state: "absent" };
    if (question.kind === "cancel" && !isOver(job, now)) job.cancelled = true;
    return stateOf(job, now);
  }

  /** Those that end by themselves: when, in milliseconds since 1970, and with which report. */
  ends(runIds: readonly string[]): readonly JobEnd[] {
    return [...this.#jobs.values()].flatMap((job) => {
      const [atMs, report] = [endOf(job), reportOf(job.rule)];
      const isMeant = runIds.includes(job.submission.runId) && !job.cancelled;
      return isMeant && report !== undefined ? [{ atMs, report, submission: job.submission }] : [];
    });
  }
}

export interface JobEnd {
  readonly atMs: number;
  readonly report: JobReport;
  readonly submission: JobSubmission;
}

function endOf({ rule, sinceMs }: Job): number {
  if ("never" in rule) return Number.POSITIVE_INFINITY;
  return sinceMs + (rule.after === undefined ? 0 : durationMs(rule.after));
}

function isOver(job: Job, nowMs: number): boolean {
  return endOf(job) <= nowMs;
}

function stateOf(job: Job, nowMs: number): JobAnswer {
  if (job.cancelled) return { state: "cancelled" };
  if (!isOver(job, nowMs)) return { state: "running" };
  return reportOf(job.rule) ?? { state: "running" };
}

function reportOf(rule: ScriptedJob): JobReport | undefined {
  if ("never" in rule) return undefined;
  return "error" in rule
    ? { state: "failed", error: rule.error }
    : { state: "succeeded", result: rule.result };
}
