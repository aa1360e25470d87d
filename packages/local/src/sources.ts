import type { QueuePort, QueueSettings } from "@ghouls/core";
import type { Functions } from "./functions.ts";
import type { HostLog } from "./log.ts";
import type { Mapping } from "./mapping.ts";
import { startMapping } from "./mapping.ts";
import type { Schedule } from "./schedule.ts";
import { startSchedule } from "./schedule.ts";
import { arnOf } from "./sqs-event.ts";

export interface SourcesOptions {
  readonly queues: readonly string[];
  /** Settings of a queue: those of the code that runs then. */
  readonly settingsOf: (queue: string) => Pick<QueueSettings, "batchSize" | "concurrency"> | undefined;
  /** The functions that events go to from now on. */
  readonly functions: () => Pick<Functions, "invoke">;
  readonly queuePort: QueuePort;
  readonly queueUrls: Readonly<Record<string, string>>;
  readonly region: string;
  readonly reconcileEveryMs: number;
  readonly log: HostLog;
}

/**
 * What events come from: a mapping for each queue, and the schedule. They stay while the functions behind them are replaced,
 * so that no message is on its way to one that is gone.
 */
export interface Sources {
  /** Takes nothing new, and waits up to `graceMs` for what is under way. */
  stop(graceMs: number): Promise<void>;
}

export function openSources(options: SourcesOptions): Sources {
  const { queues, functions, log, region, reconcileEveryMs } = options;
  const sources: readonly (Mapping | Schedule)[] = [
    ...queues.map((queue) =>
      startMapping({
        queue,
        port: options.queuePort,
        source: { arn: arnOf(options.queueUrls[queue] ?? "", region), region },
        get batchSize() {
          return options.settingsOf(queue)?.batchSize ?? 1;
        },
        get concurrency() {
          return options.settingsOf(queue)?.concurrency ?? 1;
        },
        invoke: (event) => functions().invoke(queue, event),
        log: (text) => log.line(queue, text),
      }),
    ),
    startSchedule({
      intervalMs: reconcileEveryMs,
      invoke: (event) => functions().invoke(undefined, event),
      log: (text) => log.line("reconciler", text),
    }),
  ];
  return {
    stop: async (graceMs) => {
      await Promise.all(sources.map((source) => source.stop(graceMs)));
    },
  };
}
