import * as z from "zod";
import { isDuration } from "./duration.ts";

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
  /** The worker is ended by force after it; Lambda's limit is 15 minutes. */
  functionTimeout: duration.default("15m"),
});
export type QueueSettings = z.infer<typeof QueueSettings>;

/** Two queues by default: interactive runs, and long, scheduled or bulk ones. */
export const DEFAULT_QUEUES: Readonly<Record<string, z.input<typeof QueueSettings>>> = {
  runs: { batchSize: 5, concurrency: 2 },
  rites: { batchSize: 1, concurrency: 1 },
};
export const DEFAULT_QUEUE = "runs";

/** Environment variable that holds the URL of a queue: GHOULS_QUEUE_<NAME>_URL. */
export function queueUrlVariable(queue: string): string {
  return `GHOULS_QUEUE_${queue.toUpperCase().replaceAll("-", "_")}_URL`;
}
