import { settledWithin } from "ghouls/processes/settled";
import type { Environment } from "./environment.ts";
import type { InvocationResult } from "./lambda-table.ts";

export interface FunctionOptions {
  /** Starts an environment with a worker identity of its own. */
  readonly start: () => Environment;
  /** Told when an environment has started. */
  readonly onStart: (environment: Environment) => void;
  /** Whether one environment serves everything, one invocation after the other. */
  readonly single?: boolean;
  /** Told once for each environment that has ended, with how. */
  readonly onEnd: (environment: Environment, how: string) => void;
}

/**
 * A function as Lambda runs it: environments are started on demand, kept warm, and used one invocation at a time. The last one
 * that ends is replaced at once.
 */
export interface LocalFunction {
  /** Starts one environment ahead of the first invocation; rejects where it cannot start. */
  warm(): Promise<void>;
  /** Never rejects. */
  invoke(event: unknown): Promise<InvocationResult>;
  environments(): readonly Environment[];
  /** Waits up to `graceMs` for what is under way, then kills all environments and waits for their end. */
  close(graceMs: number): Promise<void>;
}

export function createFunction(options: FunctionOptions): LocalFunction {
  const all = new Set<Environment>();
  const idle: Environment[] = [];
  const running = new Set<Promise<unknown>>();
  let closing = false;
  let last: Promise<unknown> = Promise.resolve();
  /** A replacement that is on its way. */
  let warming: Promise<void> | undefined;
  const start = (): Environment => {
    const environment = options.start();
    all.add(environment);
    options.onStart(environment);
    void environment.ended.then((how) => {
      all.delete(environment);
      options.onEnd(environment, how);
      replaceIfLast(environment);
    });
    return environment;
  };
  /** One stands ready for the next message; one that could not start is not tried again before it is needed. */
  const replaceIfLast = (environment: Environment): void => {
    if (closing || all.size > 0) return;
    warming = environment.ready.then(warm).catch(() => undefined);
  };
  const warm = async (): Promise<void> => {
    if (closing) return;
    const environment = start();
    await environment.ready;
    idle.push(environment);
  };
  const take = (): Environment => {
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) if (next.alive()) return next;
    return start();
  };
  const run = async (event: unknown): Promise<InvocationResult> => {
    if (options.single === true) await warming;
    const environment = take();
    try {
      await environment.ready;
    } catch (error) {
      return { ok: false, reason: error instanceof Error ? error.message : String(error) };
    }
    const result = await environment.invoke(event);
    if (environment.alive()) idle.push(environment);
    return result;
  };
  return {
    warm,
    invoke: (event) => {
      const invocation = options.single === true ? last.then(() => run(event)) : run(event);
      last = invocation;
      running.add(invocation);
      return invocation.finally(() => running.delete(invocation));
    },
    environments: () => [...all],
    close: async (graceMs) => {
      await settledWithin([...running], graceMs);
      closing = true;
      const open = [...all];
      for (const environment of open) environment.kill();
      await Promise.all(open.map((environment) => environment.ended));
    },
  };
}
