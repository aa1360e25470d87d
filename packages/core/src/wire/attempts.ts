import * as z from "zod";
import { JobReportShape } from "../job-answer.ts";
import { statesOf } from "../transitions.ts";
import { time } from "./frame.ts";

const attempt = {
  attemptId: z.string(),
  runId: z.string(),
  workflow: z.string(),
  /** Of the call that has delegated it. */
  name: z.string(),
  status: z.enum(statesOf("attempt")),
  /** Its name in the configuration. */
  service: z.string(),
  /** Whom it was made for: nobody else is asked about it. */
  executor: z.object({ adapter: z.string(), version: z.string(), digest: z.string() }),
  /** Of the frozen request. */
  digest: z.string(),
  /** The one key under which it is submitted. */
  idempotencyKey: z.string(),
  submissions: z.int(),
  /** Why nobody knows of it; null where somebody does. */
  uncertain: z.string().nullable(),
  /** Why the last question about it came to nothing; it may have been answered since. */
  trouble: z.object({ why: z.string(), at: time }).nullable(),
  /** Why it is to be cancelled, where it is. */
  cancelling: z.enum(["deadline", "ended", "restart"]).nullable(),
  /** What its service said against its end. */
  contradiction: z.string().nullable(),
  createdAt: time,
  /** When its service first said that it has it. */
  acknowledgedAt: time.nullable(),
  heartbeatAt: time.nullable(),
  deadlineAt: time.nullable(),
  nextLookAt: time.nullable(),
  closedAt: time.nullable(),
  /** "service", "callback", an operator, or the end of its run. */
  closedBy: z.string().nullable(),
};

/** A delegated job, without what was asked and what came of it. */
export const AttemptSummary = z.object(attempt);
export type AttemptSummary = z.infer<typeof AttemptSummary>;

const JobError = z.object({ code: z.string(), message: z.string() });

export const AttemptView = z.object({
  ...attempt,
  request: z.unknown(),
  result: z.unknown(),
  error: JobError.nullable(),
});
export type AttemptView = z.infer<typeof AttemptView>;

export const AttemptPage = z.object({ attempts: z.array(AttemptSummary), nextCursor: z.string().nullable() });
export type AttemptPage = z.infer<typeof AttemptPage>;

/** What a service reports of a job. "accepted" and "running" are heartbeats; the others end it, and use the token up. */
export const JobReport = JobReportShape;

/** Header of the token that came with a submission. */
export const CALLBACK_TOKEN_HEADER = "ghouls-callback-token";
/** 256 random bits as base64url. */
export const CALLBACK_TOKEN = /^[A-Za-z0-9_-]{43}$/;

export const Reported = z.object({ attemptId: z.string(), status: z.enum(statesOf("attempt")) });
export type Reported = z.infer<typeof Reported>;

/** How an operator says that a job has ended of which nobody knows. */
export const AttemptResolution = z
  .strictObject({
    outcome: z.enum(["succeeded", "failed", "cancelled"]),
    /** Of a job that succeeded: any JSON. */
    result: z.unknown().optional(),
    /** Of a job that failed; the reason where absent. */
    error: JobError.extend({ code: z.string().min(1).max(200), message: z.string().max(2_000) }).optional(),
    reason: z.string().trim().min(1).max(1_000),
  })
  .refine((word) => word.outcome !== "succeeded" || "result" in word, {
    path: ["result"],
    message: "say what it gave: a word stands (null where it gives nothing)",
  });
export type AttemptResolution = z.infer<typeof AttemptResolution>;

export const AttemptResolved = z.object({
  attemptId: z.string(),
  runId: z.string(),
  status: z.enum(statesOf("attempt")),
  /** Whether this word brought the run back. */
  resumed: z.boolean(),
});
export type AttemptResolved = z.infer<typeof AttemptResolved>;
