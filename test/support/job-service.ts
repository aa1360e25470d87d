import type {
  AnyService,
  AskContext,
  JobAnswer,
  JobRef,
  JobSubmission,
  ServiceTraits,
  ServiceTimes,
} from "@ghouls/core";
import * as z from "zod";

/** A job as the service of a test has it. */
interface Job {
  readonly key: string;
  /** What it was submitted with last. */
  readonly submission: JobSubmission;
  /** How often it was submitted. */
  readonly submissions: number;
  readonly state: JobAnswer;
}

export interface JobService extends AnyService {
  readonly jobs: Map<string, Job>;
  /** Every question that was put to it, such as "submit", in order. */
  readonly asked: string[];
  /** Sets what it says of its only job. */
  says(state: JobAnswer): void;
  only(): Job;
  /** Answers in the place of the service, or not at all; undefined: as ever. */
  misbehave:
    | ((question: "submit" | "lookUp" | "cancel", job: JobRef) => Promise<JobAnswer | undefined>)
    | undefined;
  forget(): void;
}

/**
 * A service that keeps its promises, within this process: what is submitted is a job under its key, accepted until a test
 * says more. How it misbehaves is a test's to say.
 */
export function jobService(
  traits: Partial<ServiceTraits> = {},
  times: Partial<ServiceTimes> = {},
  { version = "1", identity = "at home" }: { readonly version?: string; readonly identity?: string } = {},
): JobService {
  const jobs = new Map<string, Job>();
  const cancelled = new Set<string>();
  const asked: string[] = [];
  const declared: ServiceTraits = {
    lookup: "authoritative",
    submit: "idempotent",
    cancel: "final",
    delaySeconds: 5,
    ...traits,
  };
  const take = async (question: "submit" | "lookUp" | "cancel", job: JobRef, usual: () => JobAnswer) => {
    asked.push(question);
    return (await service.misbehave?.(question, job)) ?? usual();
  };
  const service: JobService = {
    adapter: "test",
    version,
    identity,
    request: z.object({ what: z.string() }),
    result: z.object({ done: z.string() }),
    traits: declared,
    times: { timeoutMs: 5_000, pollMs: 30_000, heartbeatMs: null, ...times },
    jobs,
    asked,
    misbehave: undefined,
    forget: () => {
      jobs.clear();
      cancelled.clear();
      asked.length = 0;
      service.misbehave = undefined;
    },
    only: () => {
      const [job, ...more] = jobs.values();
      if (job === undefined || more.length > 0) throw new Error(`${jobs.size} jobs, not one`);
      return job;
    },
    says: (state) => {
      const job = service.only();
      jobs.set(job.key, { ...job, state });
    },
    submit: (submission: JobSubmission, _context: AskContext) =>
      take("submit", submission, () => {
        const key = submission.idempotencyKey;
        if (cancelled.has(key)) return { state: "cancelled" };
        const before = jobs.get(key);
        const state = before?.state ?? ({ state: "accepted" } as const);
        jobs.set(key, { key, submission, submissions: (before?.submissions ?? 0) + 1, state });
        return state;
      }),
    lookUp: (job: JobRef) =>
      take("lookUp", job, () => jobs.get(job.idempotencyKey)?.state ?? { state: "absent" }),
    cancel: (job: JobRef) =>
      take("cancel", job, () => {
        const key = job.idempotencyKey;
        const found = jobs.get(key);
        if (found?.state.state === "succeeded" || found?.state.state === "failed") return found.state;
        cancelled.add(key);
        if (found !== undefined) jobs.set(key, { ...found, state: { state: "cancelled" } });
        return { state: "cancelled" };
      }),
  };
  return service;
}
