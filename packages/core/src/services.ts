import type * as z from "zod";
import type { FaultInjector } from "./faults.ts";
import type { JsonValue } from "./json.ts";

/** What an adapter declares of its service: what its answers prove, and what they do not (design.md §3, Delegate). */
export interface ServiceTraits {
  /**
   * "authoritative": a job that is not found was not accepted, if it is asked about late enough. "advisory": what is found
   * is true, and what is not found proves nothing. "none": nobody can ask.
   */
  readonly lookup: "authoritative" | "advisory" | "none";
  /** "idempotent": the same key is the same job, however often it is submitted. "once": a second submission is a second job. */
  readonly submit: "idempotent" | "once";
  /**
   * "final": a cancelled key stays cancelled, also for a submission that arrives after the cancel. "advisory": a cancel says
   * nothing of what arrives later. "none": nobody can cancel.
   */
  readonly cancel: "final" | "advisory" | "none";
  /** Seconds after which a lookup, or a cancel, sees what had been accepted before. */
  readonly delaySeconds: number;
  /**
   * Seconds for which it knows a key, from the first moment at which its submission may have been sent: after them a job that
   * is not found proves nothing, and a submission of the same key would be a second job. For ever where it is absent.
   */
  readonly remembersSeconds?: number;
}

/** The times of a service. */
export interface ServiceTimes {
  /** How long one question may take, in milliseconds. At most 10 s and the configuration's `timing.actsMargin`. */
  readonly timeoutMs: number;
  /** From the acceptance to the first lookup, in milliseconds; further ones come at growing distances. Null: it calls back. */
  readonly pollMs: number | null;
  /** How long a job may say nothing before nobody knows of it, in milliseconds. Null: it need not say anything. */
  readonly heartbeatMs: number | null;
}

/** Why a job failed, in the service's words. */
export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** What a service says of a job: to a submission, a lookup or a cancel, or by a callback. */
export type JobReport =
  | { readonly state: "accepted" | "running" | "cancelled" }
  /** Any JSON; undefined is null. */
  | { readonly state: "succeeded"; readonly result?: unknown }
  | { readonly state: "failed"; readonly error: JobError };

/** The same, or that there was no answer which means anything. */
export type JobAnswer =
  | JobReport
  /** It does not know the key. */
  | { readonly state: "absent" }
  /**
   * To a submission only: it is certain that nothing of it was sent, such as because no connection came about, or that it was
   * refused before anything of it began, by a service whose refusals are known to say that.
   */
  | { readonly state: "unsent"; readonly why: string }
  /** It did not say, or not in time, or something that means nothing. */
  | { readonly state: "unknown"; readonly why: string };

/** The job that a question is about. */
export interface JobRef {
  readonly tenantId: string;
  readonly runId: string;
  readonly attemptId: string;
  readonly idempotencyKey: string;
}

/** A job as it is submitted. */
export interface JobSubmission extends JobRef {
  /** JSON text of the request, exactly as it is digested in the ledger. */
  readonly requestText: string;
  /** Where the service may report, and the token that lets it, for a header. Null where nobody can be called back. */
  readonly callback: { readonly url: string; readonly token: string } | null;
}

/** What an adapter is given with each question. */
export interface AskContext {
  /** Fires when the question has taken too long. */
  readonly signal: AbortSignal;
  /** Origins that may be reached though their addresses are no public ones; empty on Lambda. */
  readonly origins: readonly string[];
  /** Stands in for what can go wrong, in tests. */
  readonly faults?: FaultInjector;
}

/** What may be done with which resources of an AWS account. No pattern but at the end of an ARN. */
export interface ServicePermission {
  readonly actions: readonly string[];
  /** ARNs. */
  readonly resources: readonly string[];
}

/**
 * A service that takes jobs: an adapter with its configuration. A rejection of any call is an unknown outcome. It sends at
 * most one request that could start a job in one `submit`.
 */
export interface Service<Request = unknown, Result = unknown> {
  /** Name of the adapter, such as "http", and the version of how it speaks. */
  readonly adapter: string;
  readonly version: string;
  /** What identifies the executor, such as its address: no secret. Its digest is kept with each attempt. */
  readonly identity: JsonValue;
  readonly request: z.ZodType<Request>;
  readonly result: z.ZodType<Result>;
  readonly traits: ServiceTraits;
  readonly times: ServiceTimes;
  /**
   * What whoever asks must be allowed in its AWS account: the infrastructure gives the egress function just that. Read when a
   * deployment is planned, so what it names must be known then. None where it is absent.
   */
  readonly permissions?: readonly ServicePermission[];
  submit(job: JobSubmission, context: AskContext): Promise<JobAnswer>;
  lookUp(job: JobRef, context: AskContext): Promise<JobAnswer>;
  cancel(job: JobRef, context: AskContext): Promise<JobAnswer>;
}

/** A service of any types; what the configuration and the engine hold. */
export type AnyService = Omit<Service, "request" | "result"> & {
  readonly request: z.ZodType;
  readonly result: z.ZodType;
};

/** One question to a service, as it travels to where it leaves from. */
export type JobQuestion =
  | { readonly kind: "submit"; readonly job: JobSubmission }
  | { readonly kind: "lookUp" | "cancel"; readonly job: JobRef };

/**
 * Where questions to services leave from: this process, or a function of its own without rights in the database. Rejects
 * where nobody knows what came of the question.
 */
export interface Egress {
  /** @param service its name in the configuration */
  ask(service: string, question: JobQuestion, timeoutMs: number): Promise<JobAnswer>;
}
