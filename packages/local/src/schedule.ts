import { setTimeout as delay } from "node:timers/promises";
import type { InvocationResult } from "./lambda-table.ts";
import { settledWithin } from "ghouls/processes/settled";

export interface ScheduleOptions {
  /** From the start of one invocation to the start of the next, in milliseconds. */
  readonly intervalMs: number;
  readonly invoke: (event: {
    readonly source: "aws.scheduler";
    readonly time: string;
  }) => Promise<InvocationResult>;
  readonly log: (text: string) => void;
}

export interface Schedule {
  /** Starts no more invocations, and waits up to `graceMs` for the one under way. */
  stop(graceMs: number): Promise<void>;
}

/** Invokes a function at once and then again and again, never two at the same time. */
export function startSchedule(options: ScheduleOptions): Schedule {
  const stopping = new AbortController();
  const loop = run(options, stopping.signal);
  return {
    stop: async (graceMs) => {
      stopping.abort();
      await settledWithin([loop], graceMs);
    },
  };
}

async function run(options: ScheduleOptions, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const next = delay(options.intervalMs, undefined, { signal: stopping }).catch(() => undefined);
    const result = await options.invoke({ source: "aws.scheduler", time: new Date().toISOString() });
    if (!result.ok) options.log(`the reconciler failed: ${result.reason}`);
    await next;
  }
}
