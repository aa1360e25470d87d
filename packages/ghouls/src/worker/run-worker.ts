import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { superviseWorker } from "./supervisor.ts";

/** Seconds of one long poll: an empty queue costs one request in that time, and a stop waits for it. */
const POLL_SECONDS = 2;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export interface RunWorkerOptions {
  /** Path of the configuration. */
  readonly config: string;
  /** Queues to serve; all with `worker: "process"` where there are none. */
  readonly queues: readonly string[];
  /** Runs at once of each queue; what its functions would carry where absent. */
  readonly concurrency?: number | undefined;
  /** How long the process may go on after it was told to end, in milliseconds; as long as it takes where absent. */
  readonly graceMs?: number | undefined;
  /** Unique; of this machine, this process and chance where absent. */
  readonly name?: string | undefined;
  /** Where the names of processes are kept whose end is not recorded. */
  readonly stateDir?: string | undefined;
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * `ghouls worker`: serves queues until this process gets a signal that tells it to end. A second one changes nothing.
 * @returns the exit code: 0 where all that has ended is recorded, else 1
 * @throws GhoulsError where it cannot begin, with what to do
 */
export async function runWorker(options: RunWorkerOptions): Promise<number> {
  const { graceMs, stateDir, json, env, queues } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const signal of SIGNALS) process.on(signal, end);
  // Who reads its lines may go; what it keeps running stays.
  process.stdout.on("error", () => undefined);
  const log = (text: string): void => {
    const line = json
      ? JSON.stringify({ time: new Date().toISOString(), level: "info", message: text })
      : `worker | ${text}`;
    process.stdout.write(`${line}\n`);
  };
  try {
    const recorded = await superviseWorker({
      order: {
        config: resolve(options.config),
        queues,
        concurrency: options.concurrency ?? null,
        waitSeconds: POLL_SECONDS,
      },
      name:
        options.name ??
        `${hostname()
          .replaceAll(/[^A-Za-z0-9._-]/g, "-")
          .slice(0, 80)}-${process.pid}-${randomBytes(4).toString("hex")}`,
      ...(graceMs === undefined ? {} : { graceMs }),
      ...(stateDir === undefined ? {} : { stateDir: resolve(stateDir) }),
      env,
      log,
      ending: ending.signal,
    });
    return recorded ? 0 : 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}
