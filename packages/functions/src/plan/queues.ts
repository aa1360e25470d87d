import { GhoulsError, durationMs, type QueueSettings } from "@ghouls/core";
import { ref, type Reference } from "./names.ts";

export interface QueuePlan {
  /** Its name in the configuration. */
  readonly name: string;
  /**
   * At or above the timeout of its worker: Lambda refuses a mapping otherwise. The worker shortens it for what it takes; a process
   * says itself how long what it receives is hidden.
   */
  readonly visibilitySeconds: number;
  readonly retentionSeconds: number;
  readonly deadLetter: { readonly retentionSeconds: number; readonly maxReceiveCount: number };
  /** Which functions may send; the queue's policy refuses everybody else but the roles that are named where it is made. */
  readonly senders: readonly string[];
  /** Null where no function serves it, but processes of `ghouls worker`. */
  readonly mapping: MappingPlan | null;
  readonly arn: Reference;
  readonly url: Reference;
  readonly deadLetterArn: Reference;
  readonly deadLetterUrl: Reference;
}

interface MappingPlan {
  readonly function: string;
  readonly batchSize: number;
  readonly maximumConcurrency: number;
  readonly responses: "ReportBatchItemFailures";
}

/** The longest that SQS keeps a message. Source: Amazon SQS, "Message quotas". */
const LONGEST_RETENTION_SECONDS = 14 * 86_400;
/** The longest that Lambda lets a function run. Source: AWS Lambda, "Quotas". */
const LONGEST_TIMEOUT_SECONDS = 900;
/**
 * High: throttling and give-backs burn receives, and the ledger decides about runs, not the queue. What arrives there is
 * no failure of a run.
 */
const RECEIVES = 20;
/** For whoever takes a message by hand: workers say it themselves. */
const PROCESS_VISIBILITY_SECONDS = 120;
/** The least that SQS's event source mapping takes. Source: AWS Lambda, "Configuring maximum concurrency". */
const LEAST_CONCURRENCY = 2;

/** @throws GhoulsError configuration_invalid where Lambda could not run a queue as it is configured */
export function planQueues(queues: Readonly<Record<string, QueueSettings>>): QueuePlan[] {
  refuseAlike(Object.keys(queues));
  return Object.entries(queues).map(([name, settings]) => {
    if (settings.worker === "process") return queuePlan(name, PROCESS_VISIBILITY_SECONDS, null);
    const timeout = Math.ceil(durationMs(settings.functionTimeout) / 1_000);
    if (timeout > LONGEST_TIMEOUT_SECONDS) {
      throw refused(
        name,
        `functionTimeout is ${settings.functionTimeout}`,
        'Lambda ends a function after "15m" at the latest. Let processes serve it that nothing ends: worker: "process".',
      );
    }
    if (settings.concurrency < LEAST_CONCURRENCY) {
      throw refused(
        name,
        `concurrency is ${settings.concurrency}`,
        "An SQS event source mapping takes 2 at least.",
      );
    }
    return queuePlan(name, timeout, {
      function: workerOf(name),
      batchSize: settings.batchSize,
      maximumConcurrency: settings.concurrency,
      responses: "ReportBatchItemFailures",
    });
  });
}

function queuePlan(name: string, visibilitySeconds: number, mapping: MappingPlan | null): QueuePlan {
  return {
    name,
    visibilitySeconds,
    retentionSeconds: LONGEST_RETENTION_SECONDS,
    deadLetter: { retentionSeconds: LONGEST_RETENTION_SECONDS, maxReceiveCount: RECEIVES },
    senders: ["admission", ...(mapping === null ? [] : [mapping.function]), "reconciler"],
    mapping,
    arn: ref(`queue.${name}.arn`),
    url: ref(`queue.${name}.url`),
    deadLetterArn: ref(`queue.${name}.deadLetter.arn`),
    deadLetterUrl: ref(`queue.${name}.deadLetter.url`),
  };
}

/** Names of resources have no dashes: "a-1" and "a1" would be one. */
function refuseAlike(names: readonly string[]): void {
  const groups = Map.groupBy(names, (name) => name.replaceAll("-", ""));
  const alike = [...groups.values()].find(({ length }) => length > 1);
  if (alike === undefined) return;
  const [first = "", second = ""] = alike;
  throw refused(second, `name without dashes is that of "${first}"`, "Rename one of the two.");
}

/** The function that serves a queue. */
function workerOf(queue: string): string {
  return `worker-${queue}`;
}

function refused(queue: string, what: string, fix: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `the queue "${queue}" cannot be deployed: its ${what}`, {
    fix,
  });
}
