import { randomBytes } from "node:crypto";
import { ENDLESS_MS, durationMs } from "@ghouls/core";
import { entryPoint } from "./entry-point.ts";
import type { Environment } from "./environment.ts";
import { startEnvironment } from "./environment.ts";
import { createFunction } from "./function.ts";
import type { LocalFunction } from "./function.ts";
import type { HeldWorker } from "./hold.ts";
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
  /** Told once for each process that has ended: also the reconciler may have had a job on its way to a service. */
  readonly onWorkerEnd: (worker: string, how: string) => void;
  /** Lets one worker with an inspector serve all queues, one run after the other. */
  readonly inspect?: Inspect;
}

export interface Inspect {
  /** 0 for any. */
  readonly port: number;
  /** Holds the leases of a worker while it works, until the returned function is called. */
  readonly hold: (worker: HeldWorker) => () => void;
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
  /** Those that it serves. */
  readonly queues: readonly string[];
  readonly function: LocalFunction;
}

/** Starts one process of each function; rejects where one cannot load its code, and then leaves none behind. */
export async function startFunctions(options: FunctionsOptions): Promise<Functions> {
  const deployed: Deployed[] = [];
  const processes = (): readonly ProcessEntry[] => deployed.flatMap(entriesOf);
  const changed = (): void => void options.onChange(processes());
  const queues = Object.entries(options.config.queues);
  if (options.inspect === undefined) {
    for (const [queue, settings] of queues) {
      const timeoutMs = settings.worker === "process" ? ENDLESS_MS : durationMs(settings.functionTimeout);
      const worker = deploy(options, { role: "worker", name: queue, timeoutMs, changed });
      deployed.push({ role: "worker", queues: [queue], function: worker });
    }
  } else {
    // Its invocations have no limit.
    const one = {
      role: "worker",
      name: "inspected",
      timeoutMs: 0,
      changed,
      inspect: options.inspect,
    } as const;
    deployed.push({ role: "worker", queues: queues.map(([queue]) => queue), function: deploy(options, one) });
  }
  const last = { role: "reconciler", name: "reconciler", timeoutMs: RECONCILER_TIMEOUT_MS, changed } as const;
  deployed.push({ role: "reconciler", queues: [], function: deploy(options, last) });
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
      deployed
        .find((each) => (queue === undefined ? each.role === "reconciler" : each.queues.includes(queue)))
        ?.function.invoke(event) ??
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

interface Deployment {
  readonly role: Deployed["role"];
  /** Its processes are called after it. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly changed: () => void;
  readonly inspect?: Inspect;
}

function deploy(options: FunctionsOptions, deployment: Deployment): LocalFunction {
  const { role, name, timeoutMs, changed, inspect } = deployment;
  const factory = role === "worker" ? "createWorker" : "createReconciler";
  const held = new Map<Environment, () => void>();
  return createFunction({
    single: inspect !== undefined,
    start: () => {
      const environment = startEnvironment({
        worker: `${name}-${randomBytes(5).toString("hex")}`,
        entry: entryPoint("function"),
        args: [
          options.handlers,
          factory,
          options.config.path,
          ...(options.code === undefined ? [] : [options.code]),
        ],
        // Who stands at a breakpoint would come past it twice.
        env: inspect === undefined ? options.env : { ...options.env, GHOULS_REPLAY_CHECK: "0" },
        log: options.log,
        timeoutMs,
        initTimeoutMs: INIT_TIMEOUT_MS,
        ...(inspect === undefined ? {} : { inspect: inspect.port }),
        onInspector: () => {
          options.log.line(
            "host",
            `attach a debugger at ${environment.inspector()} (process ${environment.pid})`,
          );
          changed();
        },
      });
      return environment;
    },
    onStart: (environment) => {
      if (inspect !== undefined) held.set(environment, inspect.hold(environment));
      changed();
    },
    onEnd: (environment, how) => {
      held.get(environment)?.();
      held.delete(environment);
      options.log.line("host", `${role} ${environment.worker} (process ${environment.pid}) ended: ${how}`);
      options.onWorkerEnd(environment.worker, how);
      changed();
    },
  });
}

function entriesOf(each: Deployed): readonly ProcessEntry[] {
  const [queue, another] = each.queues;
  return each.function.environments().map((environment: Environment) => {
    const inspector = environment.inspector();
    return {
      role: each.role,
      pid: environment.pid,
      worker: environment.worker,
      ...(queue === undefined || another !== undefined ? {} : { queue }),
      ...(inspector === undefined ? {} : { inspector }),
    };
  });
}
