import type { JobReport, ServiceTraits } from "@ghouls/core";

/** A source of chance that gives the same for the same seed (mulberry32). */
export class Chance {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  happens(probability: number): boolean {
    return this.next() < probability;
  }
  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }
}

type End = Extract<JobReport, { readonly state: "succeeded" | "failed" }>;

/** One job that the service has taken: what becomes of it is decided when it is made. */
export interface Job {
  readonly record: KeyRecord;
  /** How it ends by itself; null where it never does. */
  readonly end: End | null;
  /** When it acts on the world, if ever. */
  readonly acts: "start" | "end" | "never";
  /** Steps that it still waits, and then works. */
  waits: number;
  works: number;
  /** The service does not find it any more, and it goes on. */
  hidden: boolean;
  /** It was asked to stop, and does at the next step. */
  stopping: boolean;
  report: JobReport;
  /** The last one that {@link Jobs.advance} has told of. */
  told: JobReport;
}

/** All that the service knows of one key. */
export interface KeyRecord {
  readonly key: string;
  readonly chance: Chance;
  readonly jobs: Job[];
  submissions: number;
  /** Submissions that have arrived, and are taken at the next step. */
  pending: number;
  /** It was cancelled without a job. */
  closed: boolean;
  effects: number;
}

export const hasEnded = ({ report: { state } }: Job): boolean => state !== "accepted" && state !== "running";

/**
 * The jobs of a service, and what is true of them. It keeps what the traits claim: whoever misbehaves in front of it lies in
 * answers only. One {@link advance} is the declared delay: what had arrived before it is taken, or never will be, after it.
 */
export class Jobs {
  readonly #seed: number;
  readonly #traits: ServiceTraits;
  readonly #records = new Map<string, KeyRecord>();

  constructor(seed: number, traits: ServiceTraits) {
    this.#seed = seed;
    this.#traits = traits;
  }

  /** Of any key that was ever named. Chance depends on how many were named before, not on the key, which is new in every run. */
  of(key: string): KeyRecord {
    const found = this.#records.get(key);
    if (found !== undefined) return found;
    const chance = new Chance(Math.imul(this.#seed + 1, 7_919) + this.#records.size);
    const empty = { submissions: 0, pending: 0, closed: false, effects: 0 };
    const record: KeyRecord = { key, chance, jobs: [], ...empty };
    this.#records.set(key, record);
    return record;
  }

  all(): KeyRecord[] {
    return [...this.#records.values()];
  }

  /** Takes a submission that has arrived. Under a key that has a job, an idempotent service gives that one. */
  take(record: KeyRecord, hidden = false): Job | undefined {
    const [known] = record.jobs;
    if (known !== undefined && this.#traits.submit === "idempotent") return known;
    if (this.isClosed(record)) return undefined;
    const job = newJob(record, hidden);
    record.jobs.push(job);
    if (record.chance.happens(0.2)) while (job.end !== null && !hasEnded(job)) progress(job);
    return job;
  }

  /** Whether no job comes of this key any more: a cancelled one stays so, if that is claimed. */
  isClosed({ closed, jobs }: KeyRecord): boolean {
    const ending = ({ stopping, report }: Job) => stopping || report.state === "cancelled";
    return closed || (this.#traits.cancel === "final" && jobs.some(ending));
  }

  /** What a lookup sees. */
  visible(record: KeyRecord): Job | undefined {
    return record.jobs.find(({ hidden }) => !hidden);
  }

  /** Whether there is a job that a lookup does not see. */
  hides(record: KeyRecord): boolean {
    return record.jobs.some(({ hidden }) => hidden);
  }

  /** Cancels what is there. With a final cancel nothing comes afterwards either. */
  cancel(record: KeyRecord, when: "now" | "at the next step"): void {
    for (const job of record.jobs) {
      if (job.hidden || hasEnded(job)) continue;
      job.stopping = when !== "now";
      if (when === "now") job.report = { state: "cancelled" };
    }
    if (this.#traits.cancel === "final" && when === "now")
      Object.assign(record, { closed: true, pending: 0 });
  }

  /** What has arrived is taken, and each job goes on by one stage. Answers those whose report has changed. */
  advance(): Job[] {
    for (const record of this.all()) {
      for (; record.pending > 0; record.pending -= 1) this.take(record);
      for (const job of record.jobs) progress(job);
    }
    const changed = this.#jobs().filter(({ report, told }) => report !== told);
    for (const job of changed) job.told = job.report;
    return changed;
  }

  /** Whether an {@link advance} would change nothing. */
  quiet(): boolean {
    const stands = (job: Job) => hasEnded(job) || (job.end === null && job.report.state === "running");
    return (
      this.all().every(({ pending }) => pending === 0) &&
      this.#jobs().every((job) => stands(job) && !job.stopping && job.report === job.told)
    );
  }

  #jobs(): Job[] {
    return this.all().flatMap(({ jobs }) => jobs);
  }
}

function newJob(record: KeyRecord, hidden: boolean): Job {
  const { chance, key, jobs } = record;
  const drawn = chance.next();
  const error = { code: "job_failed", message: `the job failed (${Math.floor(drawn * 1e6)})` };
  const result = { key, copy: jobs.length + 1, number: Math.floor(drawn * 1e6) };
  const end: End | null =
    drawn < 0.6 ? { state: "succeeded", result } : drawn < 0.8 ? { state: "failed", error } : null;
  const report: JobReport = { state: "accepted" };
  return {
    record,
    end,
    acts: chance.pick(end?.state === "succeeded" ? ["start", "end"] : ["start", "never"]),
    waits: Math.floor(chance.next() * 3),
    works: Math.floor(chance.next() * 3),
    hidden,
    stopping: false,
    report,
    told: report,
  };
}

function progress(job: Job): void {
  const { record, end, acts, report } = job;
  if (hasEnded(job)) return;
  if (job.stopping) {
    job.stopping = false;
    job.report = { state: "cancelled" };
  } else if (report.state === "accepted") {
    if (job.waits-- > 0) return;
    job.report = { state: "running" };
    if (acts === "start") record.effects += 1;
  } else if (end !== null) {
    if (job.works-- > 0) return;
    job.report = end;
    if (acts === "end") record.effects += 1;
  }
}
