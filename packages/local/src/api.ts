import { endChild, entryPoint, startChild, untilReady } from "./child.ts";
import type { ProcessEnd } from "./child.ts";
import type { HostLog } from "./log.ts";

/** Where the API listens if the user names no port. */
const DEFAULT_PORT = 4700;
const STOP_MS = 2_000;

export interface ApiProcess {
  readonly url: string;
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Starts the API in a process of its own, on loopback.
 * @param options.port the user's; {@link DEFAULT_PORT} where undefined, or a free one where that is taken
 * @throws GhoulsError where the user's port cannot be used
 */
export async function startApi(options: {
  readonly handlers: string;
  readonly configPath: string;
  readonly port: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
}): Promise<ApiProcess> {
  const port = options.port ?? DEFAULT_PORT;
  const child = startChild({
    source: "api",
    entry: entryPoint("api"),
    args: [options.handlers, options.configPath, String(port), options.port === undefined ? "free" : "exact"],
    env: options.env,
    log: options.log,
  });
  const ready = await untilReady(child, "the API");
  return {
    url: `http://127.0.0.1:${Number(ready["port"])}`,
    pid: child.pid,
    ended: child.ended,
    stop: async () => {
      await endChild(child, "SIGTERM", STOP_MS);
    },
    kill: () => child.kill("SIGKILL"),
  };
}
