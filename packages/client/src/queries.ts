import type { wire } from "@ghouls/core";
import type { CallOptions } from "./transport.ts";

export interface SubmitOptions extends CallOptions {
  /** Names this request for good: the same key and request give the same run. A random UUID where absent. */
  readonly idempotencyKey?: string;
}

export interface RunQuery extends CallOptions {
  readonly status?: readonly wire.RunSummary["status"][];
  readonly workflow?: string;
  /** Runs that have all of these. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The children that this run has started. */
  readonly parentRunId?: string;
  /** Of their admission; ISO 8601. */
  readonly admittedAfter?: string;
  readonly admittedBefore?: string;
  readonly attention?: boolean;
  /** 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ConsentQuery extends CallOptions {
  readonly status?: wire.ConsentView["status"];
  readonly runId?: string;
  /** Only those that wait for the token's own word; with no other filter. */
  readonly mine?: boolean;
  /** 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface EvidenceQuery extends CallOptions {
  /** Of copies: 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface CountQuery extends CallOptions {
  /** How far back: 1 to 168; 24 by default. */
  readonly hours?: number;
  readonly workflow?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface AttemptQuery extends CallOptions {
  readonly status?: wire.AttemptSummary["status"];
  readonly runId?: string;
  /** 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface FaultQuery extends CallOptions {
  /** Only those that stand and nobody has acknowledged. */
  readonly open?: boolean;
  /** 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface PollOptions extends CallOptions {
  /** Milliseconds between two reads; 1,000 by default. */
  readonly pollMs?: number;
}
