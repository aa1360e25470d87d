import * as z from "zod";
import { CALL_KINDS } from "../call.ts";
import { statesOf } from "../transitions.ts";
import { ON_EXPIRY, VERDICTS } from "../waits.ts";
import { time } from "./frame.ts";

const consent = {
  consentId: z.string(),
  runId: z.string(),
  workflow: z.string(),
  title: z.string(),
  status: z.enum(statesOf("consent")),
  /** Of the frozen request; a decision has to name it. */
  digest: z.string(),
  /** "role:legal" or "user:ada". */
  deciders: z.array(z.string()),
  quorum: z.int(),
  requestedBy: z.string(),
  requesterMayDecide: z.boolean(),
  onExpiry: z.enum(ON_EXPIRY),
  source: z.string().nullable(),
  createdAt: time,
  expiresAt: time.nullable(),
  closedAt: time.nullable(),
  closedBy: z.string().nullable(),
};
const word = { by: z.string(), verdict: z.enum(VERDICTS), at: time };

export const ConsentView = z.object({
  ...consent,
  /** What deciders are shown; null for nothing. */
  detail: z.unknown(),
  decisions: z.array(z.object({ ...word, comment: z.string().nullable() })),
});
export type ConsentView = z.infer<typeof ConsentView>;

/** A consent among others: without what people wrote, which may be long. */
export const ConsentSummary = z.object({
  ...consent,
  decisions: z.array(z.object(word)),
  /** Why it cannot be read by itself; null where it can. */
  problem: z.string().nullable(),
});
export type ConsentSummary = z.infer<typeof ConsentSummary>;

export const ConsentPage = z.object({
  consents: z.array(ConsentSummary),
  nextCursor: z.string().nullable(),
});
export type ConsentPage = z.infer<typeof ConsentPage>;

export const DecisionRequest = z.strictObject({
  verdict: z.enum(VERDICTS),
  /** Digest of the request that the decider was shown. */
  digest: z.string().min(1).max(200),
  comment: z.string().trim().min(1).max(4_000).optional(),
});
export type DecisionRequest = z.infer<typeof DecisionRequest>;

export const Decided = z.object({
  consentId: z.string(),
  runId: z.string(),
  /** PENDING while the quorum is not reached. */
  status: z.enum(statesOf("consent")),
  /** True where the same word of the same person had been kept before. */
  repeated: z.boolean(),
  /** Whether this word brought the run back. */
  resumed: z.boolean(),
});
export type Decided = z.infer<typeof Decided>;

/** Names of signals, as a URL can carry them: "." and ".." in a path are other pages, however they are written. */
export const SIGNAL_NAME = /^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/;
/** The same in words. */
export const SIGNAL_NAME_RULE =
  'printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."';

export const SignalRequest = z.strictObject({ payload: z.unknown().optional() });
export type SignalRequest = z.infer<typeof SignalRequest>;

export const Signalled = z.object({
  runId: z.string(),
  signalId: z.string(),
  /** True where the same signal under the same key had been kept before. */
  repeated: z.boolean(),
  /** Whether the run waited for it; else it is kept until it does. */
  resumed: z.boolean(),
});
export type Signalled = z.infer<typeof Signalled>;

/** What a parked run waits for. */
export const OpenWait = z.object({
  kind: z.enum(CALL_KINDS),
  name: z.string(),
  /** Path of the map items that it stands in; empty at the top. */
  scope: z.string(),
  /** When its time is over; null where it has none. */
  dueAt: time.nullable(),
  consentId: z.string().nullable(),
  attemptId: z.string().nullable(),
  childRunId: z.string().nullable(),
});
export type OpenWait = z.infer<typeof OpenWait>;
