import { GhoulsError, queueUrlVariable, type QueueSettings } from "@ghouls/core";
import type { Environment } from "../environment.ts";

/** What a supervisor tells the worker process that it starts. Plain data: it travels as an argument. */
export interface WorkerOrder {
  /** Path of the configuration. */
  readonly config: string;
  /** Queues that it serves; all with `worker: "process"` where there are none. */
  readonly queues: readonly string[];
  /** Runs at once of each queue; what its functions would carry where null. */
  readonly concurrency: number | null;
  /** Seconds of one long poll. */
  readonly waitSeconds: number;
}

/** What a worker process tells its supervisor of the configuration, before it takes anything. */
export interface WorkerReady {
  readonly type: "ready";
  /** What it serves, for people. */
  readonly serves: string;
  readonly schema: string;
  readonly actsMarginSeconds: number;
  /** Whether whoever opens work lowers the reconciler's hint. */
  readonly hint: boolean;
}

/** A queue, and how much of it one process takes on. */
export interface ServedQueue {
  readonly name: string;
  readonly settings: QueueSettings;
  /** Runs that are carried at once. */
  readonly atOnce: number;
}

/**
 * The queues that an order names.
 * @throws GhoulsError configuration_invalid for a queue that is not configured, that has no URL, or where there is none
 */
export function queuesOf(
  { queues: named, concurrency }: Pick<WorkerOrder, "queues" | "concurrency">,
  configured: Readonly<Record<string, QueueSettings>>,
  { queueUrls }: Pick<Environment, "queueUrls">,
): readonly ServedQueue[] {
  const unknown = named.find((name) => !Object.hasOwn(configured, name));
  if (unknown !== undefined)
    throw new GhoulsError("configuration_invalid", `the configuration has no queue "${unknown}"`, {
      fix: `Name one of: ${Object.keys(configured).join(", ")}.`,
    });
  const served = Object.entries(configured).filter(([name, { worker }]) =>
    named.length === 0 ? worker === "process" : named.includes(name),
  );
  if (served.length === 0)
    throw new GhoulsError("configuration_invalid", 'no queue of the configuration says worker: "process"', {
      fix: `Say so in \`queues\`, or name the queues that this worker serves with --queue: ${Object.keys(configured).join(", ")}.`,
    });
  const without = served.filter(([name]) => queueUrls[name] === undefined);
  if (without.length > 0)
    throw new GhoulsError(
      "configuration_invalid",
      `no URL is known of ${without.map(([name]) => `"${name}"`).join(", ")}`,
      {
        fix: `Set ${without.map(([name]) => queueUrlVariable(name)).join(", ")} to the URL of the SQS queue.`,
      },
    );
  return served.map(([name, settings]) => ({
    name,
    settings,
    atOnce: concurrency ?? settings.batchSize * settings.concurrency,
  }));
}
