import { endChild, startChild, untilReady, type ProcessEnd } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { HostLog } from "./log.ts";
import type { ProcessEntry } from "./state.ts";

/** Where the live channel is. */
export interface Events {
  readonly table: string;
  /** Where the server listens. */
  readonly endpoint: string;
  readonly processes: readonly ProcessEntry[];
  /** Where the server is embedded: resolves when it has ended. */
  readonly ended: Promise<ProcessEnd> | undefined;
  stop(): Promise<void>;
  kill(): void;
}

const TABLE = "ghouls-events";
const DEFAULT_REGION = "us-east-1";
const STOP_MS = 2_000;

/** The user's table where he names one with its server; else one on an embedded server, on loopback and in memory. */
export async function openEvents(options: {
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
}): Promise<Events> {
  const { env, log } = options;
  const { EVENTS_TABLE: table, AWS_ENDPOINT_URL_DYNAMODB: endpoint } = env;
  if (table && endpoint) {
    const nothing = { processes: [], ended: undefined, stop: () => Promise.resolve(), kill: () => undefined };
    return { table, endpoint, ...nothing };
  }
  const child = startChild({
    source: "dynamodb",
    entry: entryPoint("dynamodb"),
    args: [TABLE, env["AWS_REGION"] ?? DEFAULT_REGION],
    env,
    log,
  });
  const ready = await untilReady(child, "the DynamoDB server");
  return {
    table: TABLE,
    endpoint: `http://127.0.0.1:${Number(ready["port"])}`,
    processes: [{ role: "dynamodb", pid: child.pid }],
    ended: child.ended,
    stop: async () => {
      await endChild(child, "SIGTERM", STOP_MS);
    },
    kill: () => child.kill("SIGKILL"),
  };
}
