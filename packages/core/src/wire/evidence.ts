import * as z from "zod";
import { time } from "./frame.ts";

/** A stored text of evidence, as far as it is shown. */
const StoredBody = {
  /** Of the stored text; it stays when the text is emptied. Null where there was nothing to store. */
  digest: z.string().nullable(),
  /** Of the stored text; null where there is none, or retention has emptied it. */
  bytes: z.int().nullable(),
  /** What it says; null also where its stored text is above 16 KiB. */
  body: z.unknown(),
};

/** What a worker brought after its claim had been taken away: kept for people, part of nothing. */
export const RejectedResult = z.object({
  at: time,
  enqueueSeq: z.int(),
  worker: z.string(),
  /** Such as "step", with the name and scope of the call. */
  kind: z.string(),
  name: z.string(),
  scope: z.string(),
  nth: z.int(),
  outcome: z.enum(["ok", "error"]),
  /** What took its claim away: "cancelled", "deadline", "lost", … */
  reason: z.string(),
  ...StoredBody,
});
export type RejectedResult = z.infer<typeof RejectedResult>;

/** A copy of a journal entry, or of an emitted event (`kind` "emit"): best effort, for people. */
export const StepCopy = z.object({
  at: time,
  enqueueSeq: z.int(),
  kind: z.string(),
  name: z.string(),
  scope: z.string(),
  nth: z.int(),
  outcome: z.enum(["ok", "error"]),
  /** Of the journal entry; null for what is none. */
  ordinal: z.int().nullable(),
  tries: z.int(),
  startedAt: time,
  ...StoredBody,
});
export type StepCopy = z.infer<typeof StepCopy>;

/** The one record of a run's end. */
export const TerminalRecord = z.object({
  /** Of its exact text. */
  digest: z.string(),
  bytes: z.int(),
  /** Its exact text; null where that is above 2 MiB. */
  record: z.string().nullable(),
  at: time,
  /** Whether its text has its digest, and says what the rows of the run say now. */
  agrees: z.boolean(),
  /** The seal that has it; null before there is one. */
  seal: z.object({ number: z.int(), at: time, digest: z.string() }).nullable(),
});
export type TerminalRecord = z.infer<typeof TerminalRecord>;

export const RunEvidence = z.object({
  runId: z.string(),
  /** Null before the run has ended, and on every page but the first. */
  terminal: TerminalRecord.nullable(),
  /** The newest 100, the newest first; none on every page but the first. */
  rejected: z.array(RejectedResult),
  /** One page, the oldest first. */
  copies: z.array(StepCopy),
  nextCursor: z.string().nullable(),
});
export type RunEvidence = z.infer<typeof RunEvidence>;
