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

/** How a job ends at a service, by itself. A service that no entry names takes none, unless all are to be asked. */
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

/** Whom jobs of services go to that no entry of the script names: nobody, or the services as they are configured. */
export type Ask = "scripted" | "real";

interface Untaken {
  readonly service: string;
  readonly submission: JobSubmission;
}

/**
 * The services of a test's script: each keeps its keys apart, finds what it has taken, cancels what runs, and calls back when
 * a job has ended. Others are asked only where that was said: a test that forgets an entry signs and pays nothing.
 */
export class ScriptedJobs implements Egress {
  readonly #others: Egress | undefined;
  readonly #nowMs: () => Promise<number>;
  readonly #jobs = new Map<string, Job>();
  /** What nobody took, by its key: an entry that is written later is this job's as well. */
  readonly #untaken = new Map<string, Untaken>();
  #rules: ScriptedJob[] = [];

  /** @param others who is asked about services that no entry names; undefined for nobody */
  constructor(others: Egress | undefined, nowMs: () => Promise<number>) {
    this.#others = others;
    this.#nowMs = nowMs;
  }

  add(rules: readonly ScriptedJob[]): void {
    this.#rules.push(...rules);
  }

  reset(): void {
    this.#rules = [];
    this.#jobs.clear();
    this.#untaken.clear();
  }

  /** Whether nobody took a job of this run, so that it waits for an entry. */
  needsEntry(runId: string): boolean {
    return [...this.#untaken.values()].some(
      ({ service, submission }) => submission.runId === runId && this.#rulesOf(service).length === 0,
    );
  }

  /** Why a job at this service is open, in words. */
  whyOpen(service: string): string {
    if (this.#rulesOf(service).length > 0)
      return "its entry of the script says `never`, or an `after` to which ghouls.clock.advance moves";
    return this.#others === undefined ? whyUntaken(service) : "the service is asked as it is configured";
  }

  async ask(service: string, question: JobQuestion, timeoutMs: number): Promise<JobAnswer> {
    const { idempotencyKey: key } = question.job;
    const rules = this.#rulesOf(service);
    if (rules.length === 0) {
      if (this.#others !== undefined) return this.#others.ask(service, question, timeoutMs);
      if (question.kind === "submit") this.#untaken.set(key, { service, submission: question.job });
      return { state: "unknown", why: whyUntaken(service) };
    }
    const now = await this.#nowMs();
    const submission = question.kind === "submit" ? question.job : this.#untaken.get(key)?.submission;
    if (submission !== undefined && !this.#jobs.has(key)) {
      // Of one service, the first entry is its first job, the next its next one, and the last all further ones.
      const before = [...this.#jobs.values()].filter((job) => job.rule.service === service).length;
      const rule = rules[Math.min(before, rules.length - 1)] as ScriptedJob;
      this.#jobs.set(key, { rule, submission, sinceMs: now, cancelled: false });
      this.#untaken.delete(key);
    }
    const job = this.#jobs.get(key);
    if (job === undefined) return { state: "absent" };
    if (question.kind === "cancel" && !isOver(job, now)) job.cancelled = true;
    return stateOf(job, now);
  }

  #rulesOf(service: string): readonly ScriptedJob[] {
    return this.#rules.filter((rule) => rule.service === service);
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

/** Why a job was not taken, and what to write. */
function whyUntaken(service: string): string {
  return `no entry of the script names the service "${service}"; script it: script: { jobs: [{ service: "${service}", result: … }] }, or let startGhouls({ …, ask: "real" }) ask services as they are configured`;
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
