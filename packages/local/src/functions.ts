import { randomBytes } from "node:crypto";
import { durationMs } from "@ghouls/core";
import type { QueuePort } from "@ghouls/core";
import { entryPoint } from "./child.ts";
import type { Environment } from "./environment.ts";
import { startEnvironment } from "./environment.ts";
import { createFunction } from "./function.ts";
import type { LocalFunction } from "./function.ts";
import type { HostLog } from "./log.ts";
import type { Mapping } from "./mapping.ts";
import { startMapping } from "./mapping.ts";
import type { LoadedConfig } from "./parts.ts";
import type { Schedule } from "./schedule.ts";
import { startSchedule } from "./schedule.ts";
import { arnOf } from "./sqs-event.ts";
import type { ProcessEntry } from "./state.ts";

const INIT_TIMEOUT_MS = 60_000;
/** The reconciler ends by itself well before it. */
const RECONCILER_TIMEOUT_MS = 60_000;

export interface FunctionsOptions {
  readonly config: LoadedConfig;
  /** The module that exports loadConfig, createWorker and createReconciler. */
  readonly handlers: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  readonly queuePort: QueuePort;
  readonly queueUrls: Readonly<Record<string, string>>;
  readonly region: string;
  readonly reconcileEveryMs: number;
  /** How long work under way may go on after `stop`, in milliseconds. */
  readonly drainMs: number;
  /** Told the living processes whenever one comes or goes. */
  readonly onChange: (processes: readonly ProcessEntry[]) => Promise<void>;
  /** Told once for each worker process that has ended. */
  readonly onWorkerEnd: (worker: string, how: string) => void;
}

/** The worker of each queue and the reconciler, each as a function of its own. */
export interface Functions {
  /** Lets messages and the schedule in. */
  open(): void;
  processes(): readonly ProcessEntry[];
  /** Takes nothing new, waits up to `drainMs` for what is under way, and ends all processes. */
  stop(): Promise<void>;
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
  const warm = await Promise.allSettled(deployed.map((each) => each.function.warm()));
  const failure = warm.find((result) => result.status === "rejected");
  if (failure !== undefined) {
    await Promise.all(deployed.map((each) => each.function.close(0)));
    throw failure.reason;
  }
  const sources: (Mapping | Schedule)[] = [];
  return {
    open: () => {
      sources.push(...deployed.map((each) => connect(options, each)));
    },
    processes,
    stop: async () => {
      for (const each of deployed) {
        if (each.role === "worker")
          for (const environment of each.function.environments()) environment.drain();
      }
      await Promise.all(sources.map((source) => source.stop(options.drainMs)));
      await Promise.all(deployed.map((each) => each.function.close(0)));
    },
    kill: () => {
      for (const each of deployed) for (const environment of each.function.environments()) environment.kill();
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
        args: [options.handlers, factory, options.config.path],
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

function connect(options: FunctionsOptions, each: Deployed): Mapping | Schedule {
  const invoke = (event: unknown): ReturnType<LocalFunction["invoke"]> => each.function.invoke(event);
  const log = (text: string): void => options.log.line(each.queue ?? each.role, text);
  if (each.queue === undefined) return startSchedule({ intervalMs: options.reconcileEveryMs, invoke, log });
  const settings = options.config.queues[each.queue];
  const url = options.queueUrls[each.queue] ?? "";
  return startMapping({
    queue: each.queue,
    port: options.queuePort,
    source: { arn: arnOf(url, options.region), region: options.region },
    batchSize: settings?.batchSize ?? 1,
    concurrency: settings?.concurrency ?? 1,
    invoke,
    log,
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
