import * as z from "zod";
import { durationMs, isDuration } from "./duration.ts";

const duration = z
  .string()
  .refine((text): boolean => isDuration(text), 'write a whole number and a unit, such as "90s" or "15m"');

/** Queue names become parts of environment variables and SQS queue names. */
export const QUEUE_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Settings of one queue and of the workers that serve it. */
export const QueueSettings = z.strictObject({
  /** Messages per invocation: how many runs share one worker process. */
  batchSize: z.int().min(1).max(10).default(5),
  /** Workers at the same time. */
  concurrency: z.int().min(1).max(1_000).default(2),
  /**
   * What serves it: a function, which is ended by force after `functionTimeout`, or processes of `ghouls worker`, which end by
   * themselves, and for which a deployment makes no function.
   */
  worker: z.enum(["function", "process"], { error: 'must be "function" or "process"' }).default("function"),
  /** The worker is ended by force after it; Lambda's limit is 15 minutes. Means nothing for a `"process"`. */
  functionTimeout: duration
    .refine(
      (text): boolean => !isDuration(text) || (durationMs(text) >= 5_000 && durationMs(text) <= 43_200_000),
      'from "5s" to "12h"',
    )
    .default("15m"),
});
export type QueueSettings = z.infer<typeof QueueSettings>;

/** The longest step of a process that nothing ends by force: a little below the longest timer of Node, in milliseconds. */
const LONGEST_STEP_MS = 24 * 86_400_000;

/**
 * The longest that a step of a queue may take, and a little, in milliseconds. It is a matter of the queue and not of who carries
 * the run: what one worker refuses, all do.
 */
export function stepLimitMs(settings: Pick<QueueSettings, "worker" | "functionTimeout"> | undefined): number {
  return settings?.worker === "process" ? LONGEST_STEP_MS : durationMs(settings?.functionTimeout ?? "15m");
}

/** What remains to a process that nothing ends by force: as much as there ever is, in milliseconds. */
export const ENDLESS_MS = 2_147_483_647;

/** The times of the protocol. Settings, so that a test need not wait for two minutes. */
export const TimingSettings = z.strictObject({
  /** How long a claim is believed without a word of its worker. */
  lease: duration.default("120s"),
  /** From one heartbeat to the next; well inside the lease. */
  beat: duration.default("30s"),
  /** What a request that was sent may still do after its process has ended; at least a request's own timeout. */
  actsMargin: duration.default("60s"),
  /** The loss of this number ends a run that would resume. */
  maxLosses: z.int().min(1).max(100).default(3),
  /** How long builds without a run's workflow give it back while another build has it. */
  deployOverlap: duration.default("1h"),
});
export type TimingSettings = z.infer<typeof TimingSettings>;

/** How long what is kept of ended runs stays readable. Digests, records and seals stay for ever. */
export const RetentionSettings = z.strictObject({
  /** Inputs, results, errors, requests, comments and reports of runs that ended longer ago; absent: for ever. */
  bodies: duration.optional(),
  /** Copies of steps, and what fenced workers left, of runs that ended longer ago. */
  steps: duration.default("30d"),
  /** What the reconciler has repaired. */
  repairs: duration.default("30d"),
  /** Code that a later deploy has replaced that long ago, and that no open run is pinned to. */
  releases: duration
    .refine((text) => !isDuration(text) || durationMs(text) >= 3_600_000, "must be at least 1h")
    .default("30d"),
});
export type RetentionSettings = z.infer<typeof RetentionSettings>;

/** The live channel. */
export const EventsSettings = z.strictObject({
  /** How long what was said live can be read again; the ledger keeps what has happened. */
  keep: duration
    .refine(
      (text) => !isDuration(text) || (durationMs(text) >= 60_000 && durationMs(text) <= 30 * 86_400_000),
      'must be from "1m" to "30d"',
    )
    .default("1d"),
});
export type EventsSettings = z.infer<typeof EventsSettings>;

/** Two queues by default: interactive runs, and long, scheduled or bulk ones. */
export const DEFAULT_QUEUES: Readonly<Record<string, z.input<typeof QueueSettings>>> = {
  runs: { batchSize: 5, concurrency: 2 },
  rites: { batchSize: 1, concurrency: 2 },
};
export const DEFAULT_QUEUE = "runs";

/** Environment variable that holds the URL of a queue: GHOULS_QUEUE_<NAME>_URL. */
export function queueUrlVariable(queue: string): string {
  return `GHOULS_QUEUE_${queue.toUpperCase().replaceAll("-", "_")}_URL`;
}

/** Environment variable that holds the URL of a queue's dead-letter queue: GHOULS_DEAD_LETTERS_<NAME>_URL. */
export function deadLettersUrlVariable(queue: string): string {
  return `GHOULS_DEAD_LETTERS_${queue.toUpperCase().replaceAll("-", "_")}_URL`;
}
