import { endChild, entryPoint, startChild, untilReady } from "./child.ts";
import type { Child, ProcessEnd } from "./child.ts";
import type { HostLog } from "./log.ts";

/** Where the API listens if the user names no port. */
const DEFAULT_PORT = 4700;
const STOP_MS = 2_000;
/** How long the requests of an API that another one follows may take. */
const RELEASE_MS = 10_000;

/** A process that has loaded its code and does not listen yet. */
export interface ApiProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  /**
   * Listens on loopback, and answers with its URL.
   * @param port the user's; {@link DEFAULT_PORT} where undefined, or a free one where that is taken
   * @throws GhoulsError where the user's port cannot be used
   */
  listen(port: number | undefined): Promise<string>;
  /** Leaves the port to the next one. It ends when its last request is answered; `released` is over by then. */
  release(): Promise<{ readonly released: Promise<unknown> }>;
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

/** Starts the API in a process of its own. @throws GhoulsError where its code cannot be loaded */
export async function startApi(options: ApiOptions): Promise<ApiProcess> {
  const child = startChild({
    source: "api",
    entry: entryPoint("api"),
    args: [options.handlers, options.configPath, ...(options.code === undefined ? [] : [options.code])],
    env: options.env,
    log: options.log,
  });
  await untilReady(child, "the API");
  return {
    pid: child.pid,
    ended: child.ended,
    listen: async (port) => {
      const said = await ask(child, "listening", {
        type: "listen",
        port: port ?? DEFAULT_PORT,
        exact: port !== undefined,
      });
      return `http://127.0.0.1:${Number(said["port"])}`;
    },
    release: async () => {
      await ask(child, "released", { type: "release" });
      return { released: endWithin(child, RELEASE_MS) };
    },
    stop: async () => {
      await endChild(child, "SIGTERM", STOP_MS);
    },
    kill: () => child.kill("SIGKILL"),
  };
}

async function ask(child: Child, answer: string, question: object) {
  const answered = untilReady(child, "the API", answer);
  child.send(question);
  return answered;
}

/** Waits for an end that is under way, and makes it where it takes too long. */
async function endWithin(child: Child, ms: number): Promise<void> {
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  await child.ended;
  clearTimeout(timer);
}
