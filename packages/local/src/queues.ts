import { GhoulsError, queueUrlVariable } from "@ghouls/core";
import type { QueueSettings } from "@ghouls/core";
import type { AwsConnection } from "@ghouls/aws";
import type { ProcessEnd } from "ghouls/processes/child";
import type { HostLog } from "./log.ts";
import { createQueues, startSqs, type QueueUrls } from "./sqs.ts";
import type { ProcessEntry } from "./state.ts";

/** The queues, wherever they are. */
export interface Queues extends QueueUrls {
  readonly connection: AwsConnection;
  readonly processes: readonly ProcessEntry[];
  /** Where the server is embedded: resolves when it has ended. */
  readonly ended: Promise<ProcessEnd> | undefined;
  stop(): Promise<void>;
  kill(): void;
}

export interface QueuesOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
  readonly log: HostLog;
  /** Known only when the configuration is loaded, which goes on meanwhile. */
  readonly queues: Promise<Readonly<Record<string, QueueSettings>>>;
}

const DEFAULT_REGION = "us-east-1";
/** A server on this machine takes any. */
const DUMMY = { accessKeyId: "local", secretAccessKey: "local" };

/**
 * The queues that the environment names; else queues made at AWS_ENDPOINT_URL; else ones on an embedded server.
 * @throws GhoulsError where it names some of them only
 */
export async function openQueues(options: QueuesOptions): Promise<Queues> {
  const region = options.env["AWS_REGION"] ?? DEFAULT_REGION;
  const endpoint = options.env["AWS_ENDPOINT_URL"];
  const none = { processes: [], ended: undefined, stop: () => Promise.resolve(), kill: () => undefined };
  if (endpoint === undefined || endpoint === "") {
    if (!namesAny(options.env)) return embedded(options, region);
    const urls = namedUrls(options.env, await options.queues);
    return { ...none, urls, deadLetterUrls: {}, connection: { region } };
  }
  const connection = { region, endpoint, ...credentials(options.env) };
  const queues = await options.queues;
  const urls = namesAny(options.env)
    ? { urls: namedUrls(options.env, queues), deadLetterUrls: {} }
    : await createQueues(connection, queues);
  return { ...none, ...urls, connection };
}

async function embedded(options: QueuesOptions, region: string): Promise<Queues> {
  const server = await startSqs({ ...options, region });
  try {
    const connection = { region, endpoint: server.endpoint, credentials: DUMMY };
    return {
      ...(await createQueues(connection, await options.queues)),
      connection,
      processes: [{ role: "sqs", pid: server.pid }],
      ended: server.ended,
      stop: () => server.stop(),
      kill: () => server.kill(),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function namesAny(env: NodeJS.ProcessEnv): boolean {
  return Object.entries(env).some(
    ([name, value]) => /^GHOULS_QUEUE_[A-Z0-9_]+_URL$/.test(name) && value !== "",
  );
}

function namedUrls(
  env: NodeJS.ProcessEnv,
  queues: Readonly<Record<string, QueueSettings>>,
): Readonly<Record<string, string>> {
  const urls = Object.keys(queues).map((queue) => [queue, env[queueUrlVariable(queue)] ?? ""] as const);
  const missing = urls.filter(([, url]) => url === "").map(([queue]) => queueUrlVariable(queue));
  if (missing.length === 0) return Object.fromEntries(urls);
  throw new GhoulsError(
    "configuration_invalid",
    `${missing.join(", ")} must be set where other queues' URLs are`,
    {
      fix: "Set the URL of every configured queue, or of none for queues on this machine.",
    },
  );
}

function credentials(env: NodeJS.ProcessEnv): Pick<AwsConnection, "credentials"> {
  return env["AWS_ACCESS_KEY_ID"] === undefined && env["AWS_PROFILE"] === undefined
    ? { credentials: DUMMY }
    : {};
}
