import { endChild, startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { ProcessEnd } from "ghouls/processes/child";
import type { HostLog } from "./log.ts";

const STOP_MS = 2_000;

/** A process that answers requests on a port of its own; {@link openGateway} is who sends it some. */
export interface ApiProcess {
  readonly pid: number;
  /** On loopback. */
  readonly port: number;
  readonly ended: Promise<ProcessEnd>;
  /** Lets its streams end: whoever reads them comes again, and is sent to the process that follows. */
  drain(): void;
  stop(): Promise<void>;
  kill(): void;
}

export interface ApiOptions {
  readonly handlers: string;
  readonly configPath: string;
  /** The file with the code to run; what is on the disk where absent. */
  readonly code?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
}

/** Starts the API in a process of its own. @throws GhoulsError where its code cannot be loaded, or it cannot listen */
export async function startApi(options: ApiOptions): Promise<ApiProcess> {
  const child = startChild({
    source: "api",
    entry: entryPoint("api"),
    args: [options.handlers, options.configPath, ...(options.code === undefined ? [] : [options.code])],
    env: options.env,
    log: options.log,
  });
  const { port } = await untilReady(child, "the API");
  return {
    pid: child.pid,
    port: Number(port),
    ended: child.ended,
    drain: () => void child.send({ type: "drain" }),
    stop: async () => {
      await endChild(child, "SIGTERM", STOP_MS);
    },
    kill: () => child.kill("SIGKILL"),
  };
}
