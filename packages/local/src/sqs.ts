import { join } from "node:path";
import { ensureQueues } from "@ghouls/aws";
import type { AwsConnection } from "@ghouls/aws";
import { durationMs } from "@ghouls/core";
import type { QueueSettings } from "@ghouls/core";
import { endChild, startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { ProcessEnd } from "ghouls/processes/child";
import type { HostLog } from "./log.ts";

/** SQS's longest visibility timeout, in seconds. */
const MAX_VISIBILITY_SECONDS = 43_200;
/** High: the ledger decides what becomes of a run, never the queue (F31). */
const MAX_RECEIVE_COUNT = 1_000;
const STOP_MS = 3_000;

export interface SqsServer {
  readonly endpoint: string;
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  stop(): Promise<void>;
  kill(): void;
}

/** Starts an SQS server on loopback whose queues and messages are kept in the data folder. */
export async function startSqs(options: {
  readonly dataDir: string;
  readonly region: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
}): Promise<SqsServer> {
  const child = startChild({
    source: "sqs",
    entry: entryPoint("sqs"),
    args: [join(options.dataDir, "sqs"), options.region],
    env: options.env,
    log: options.log,
  });
  const ready = await untilReady(child, "the SQS server");
  return {
    endpoint: `http://127.0.0.1:${Number(ready["port"])}`,
    pid: child.pid,
    ended: child.ended,
    stop: async () => {
      await endChild(child, "SIGTERM", STOP_MS);
    },
    kill: () => child.kill("SIGKILL"),
  };
}

/**
 * Creates the configured queues on a server, each with its dead-letter queue, and brings standing ones up to date.
 * @returns URLs by name, with the server's own host: what fauxqs would say depends on how it was asked
 */
export async function createQueues(
  connection: AwsConnection & { readonly endpoint: string },
  queues: Readonly<Record<string, QueueSettings>>,
): Promise<QueueUrls> {
  const specs = Object.entries(queues).map(([name, settings]) => ({
    name,
    visibilitySeconds: visibilitySeconds(settings),
    maxReceiveCount: MAX_RECEIVE_COUNT,
  }));
  const addresses = await ensureQueues(connection, specs);
  const here = (url: string) => new URL(new URL(url).pathname, connection.endpoint).href;
  return {
    urls: Object.fromEntries([...addresses].map(([name, { url }]) => [name, here(url)])),
    deadLetterUrls: Object.fromEntries(
      [...addresses].map(([name, { deadLetterUrl }]) => [name, here(deadLetterUrl)]),
    ),
  };
}

/** By the names of the queues in the configuration. */
export interface QueueUrls {
  readonly urls: Readonly<Record<string, string>>;
  /** Of those that were made here; others say so in the environment. */
  readonly deadLetterUrls: Readonly<Record<string, string>>;
}

/** Never below the function's timeout, or Lambda refuses the mapping; a minute more, as a margin for its end. */
export function visibilitySeconds(settings: Pick<QueueSettings, "functionTimeout">): number {
  return Math.min(Math.ceil(durationMs(settings.functionTimeout) / 1_000) + 60, MAX_VISIBILITY_SECONDS);
}
