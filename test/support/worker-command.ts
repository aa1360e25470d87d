import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { CrashSettings } from "./crash-workflows.ts";
import { CREDENTIALS, type TestQueue } from "./queue.ts";
import { until } from "./wait.ts";

const GHOULS = fileURLToPath(new URL("../../packages/ghouls/bin/ghouls.mjs", import.meta.url));
const WORKER_CONFIG = fileURLToPath(new URL("./worker-config.ts", import.meta.url));

export interface WorkerCommandOptions {
  readonly databaseUrl: string;
  readonly sqs: Pick<TestQueue, "endpoint" | "urls">;
  readonly stubUrl?: string;
  readonly settings?: CrashSettings;
  readonly args?: readonly string[];
  readonly config?: string;
  /** Beside those that it needs, or in their place; empty to leave one out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** `ghouls worker`, a real process whose process is another one. */
export interface WorkerCommand {
  readonly pid: number;
  /** Its worker processes, in the order of their start, by what it says of them. */
  readonly workers: readonly { readonly worker: string; readonly pid: number }[];
  /** What it and its worker have said. */
  readonly said: readonly string[];
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  hasEnded(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Reads nothing more of what it says. */
  deafen(): void;
  /** Waits until this many worker processes serve, and answers the last one. */
  untilServing(count?: number): Promise<{ readonly worker: string; readonly pid: number }>;
  untilSaid(text: string): Promise<void>;
}

const pids = new Set<number>();
const killAll = (): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has gone, as most have.
    }
  }
};
process.on("exit", killAll);

/** What it finds in its environment. */
export function workerEnvironment(options: WorkerCommandOptions): NodeJS.ProcessEnv {
  const { databaseUrl, sqs, stubUrl = "", settings = {}, env = {} } = options;
  return {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    DATABASE_URL: databaseUrl,
    AWS_ENDPOINT_URL: sqs.endpoint,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    GHOULS_QUEUE_RUNS_URL: sqs.urls["runs"],
    GHOULS_QUEUE_RITES_URL: sqs.urls["rites"],
    STUB_URL: stubUrl,
    CRASH_SETTINGS: JSON.stringify(settings),
    ...env,
  };
}

/** Starts it, in a test. It and its processes end with that test at the latest. */
export function workerCommand(options: WorkerCommandOptions): WorkerCommand {
  const { args = [], config = WORKER_CONFIG } = options;
  const child: ChildProcess = spawn(
    process.execPath,
    [GHOULS, "worker", "--config", config, "--json", ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: workerEnvironment(options),
    },
  );
  if (child.pid !== undefined) pids.add(child.pid);
  let over = false;
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => {
      over = true;
      if (child.pid !== undefined) pids.delete(child.pid);
      resolve({ code, signal });
    });
  });
  const said: string[] = [];
  const workers: { worker: string; pid: number }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      said.push(line);
      const serves = /"([^" ]+) \(process (\d+)\) serves/.exec(line);
      if (serves === null) return;
      pids.add(Number(serves[2]));
      workers.push({ worker: serves[1] ?? "", pid: Number(serves[2]) });
    });
  }
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    killAll();
  });
  return {
    pid: child.pid ?? -1,
    workers,
    said,
    ended,
    hasEnded: () => over,
    signal: (signal) => void child.kill(signal),
    deafen: () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
    untilServing: async (count = 1) => {
      await until(
        `${count} worker processes serve: ${said.join("\n")}`,
        () => workers.length >= count || over,
      );
      const last = workers[count - 1];
      if (last === undefined) throw new Error(`it ended before: ${said.join("\n")}`);
      return last;
    },
    untilSaid: async (text) => {
      await until(`it says ${text}`, () => said.some((line) => line.includes(text)));
    },
  };
}
