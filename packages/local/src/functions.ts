import { randomBytes } from "node:crypto";
import { durationMs } from "@ghouls/core";
import { entryPoint } from "./child.ts";
import type { Environment } from "./environment.ts";
import { startEnvironment } from "./environment.ts";
import { createFunction } from "./function.ts";
import type { LocalFunction } from "./function.ts";
import type { InvocationResult } from "./lambda-table.ts";
import type { HostLog } from "./log.ts";
import type { LoadedConfig } from "./parts.ts";
import type { ProcessEntry } from "./state.ts";

const INIT_TIMEOUT_MS = 60_000;
/** The reconciler ends by itself well before it. */
const RECONCILER_TIMEOUT_MS = 60_000;

export interface FunctionsOptions {
  readonly config: Pick<LoadedConfig, "path" | "queues">;
  /** The file with the code that its processes run; what is on the disk where absent. */
  readonly code?: string;
  /** The module that exports loadConfig, createWorker and createReconciler. */
  readonly handlers: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  /** Told the living processes whenever one comes or goes. */
  readonly onChange: (processes: readonly ProcessEntry[]) => Promise<void>;
  /** Told once for each worker process that has ended. */
  readonly onWorkerEnd: (worker: string, how: string) => void;
}

/** The worker of each queue and the reconciler, each as a function of its own. */
export interface Functions {
  /** Hands an event to the worker of a queue, or to the reconciler where none is named. Never rejects. */
  invoke(queue: string | undefined, event: unknown): Promise<InvocationResult>;
  processes(): readonly ProcessEntry[];
  /** Tells the workers to hand over what they carry. */
  drain(): void;
  /** Waits up to `graceMs` for what is under way, and ends all processes. */
  close(graceMs: number): Promise<void>;
  kill(): void;
}

interface Deployed {
  readonly role: "worker" | "reconciler";
  readonly queue: string | undefined;
  readonly function: LocalFunction;
}

/** Starts one process of each function; rejects where one cannot load its code, and then leaves none behind. */
export async function startFunctions(options: FunctionsOptions): Promise<Functions> {
  const deployed: Deployed[] = [];
  const processes = (): readonly ProcessEntry[] => deployed.flatMap(entriesOf);
  const changed = (): void => void options.onChange(processes());
  for (const [queue, settings] of Object.entries(options.config.queues)) {
    const timeoutMs = durationMs(settings.functionTimeout);
    deployed.push({ role: "worker", queue, function: deploy(options, "worker", queue, timeoutMs, changed) });
  }
  const reconciler = deploy(options, "reconciler", undefined, RECONCILER_TIMEOUT_MS, changed);
  deployed.push({ role: "reconciler", queue: undefined, function: reconciler });
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all(deployed.map((each) => each.function.close(graceMs)));
  };
  const warm = await Promise.allSettled(deployed.map((each) => each.function.warm()));
  const failure = warm.find((result) => result.status === "rejected");
  if (failure !== undefined) {
    await close(0);
    throw failure.reason;
  }
  const environments = (): readonly Environment[] => deployed.flatMap((each) => each.function.environments());
  return {
    invoke: (queue, event) =>
      deployed.find((each) => each.queue === queue)?.function.invoke(event) ??
      Promise.resolve({ ok: false, reason: `no function serves the queue ${queue}` }),
    processes,
    drain: () => {
      for (const each of deployed)
        if (each.role === "worker")
          for (const environment of each.function.environments()) environment.drain();
    },
    close,
    kill: () => {
      for (const environment of environments()) environment.kill();
    },
  };
}

function deploy(
  options: FunctionsOptions,
  role: Deployed["role"],
  queue: string | undefined,
  timeoutMs: number,
  changed: () => void,
): LocalFunction {
  const factory = role === "worker" ? "createWorker" : "createReconciler";
  return createFunction({
    start: () =>
      startEnvironment({
        worker: `${queue ?? role}-${randomBytes(5).toString("hex")}`,
        entry: entryPoint("function"),
        args: [
          options.handlers,
          factory,
          options.config.path,
          ...(options.code === undefined ? [] : [options.code]),
        ],
        env: options.env,
        log: options.log,
        timeoutMs,
        initTimeoutMs: INIT_TIMEOUT_MS,
      }),
    onStart: changed,
    onEnd: (environment, how) => {
      options.log.line("host", `${role} ${environment.worker} (process ${environment.pid}) ended: ${how}`);
      if (role === "worker") options.onWorkerEnd(environment.worker, how);
      changed();
    },
  });
}

function entriesOf(each: Deployed): readonly ProcessEntry[] {
  return each.function.environments().map((environment: Environment) => ({
    role: each.role,
    pid: environment.pid,
    worker: environment.worker,
    ...(each.queue === undefined ? {} : { queue: each.queue }),
  }));
}
