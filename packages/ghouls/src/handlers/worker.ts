import { work } from "@ghouls/engine";
import { ENDLESS_MS, stepLimitMs } from "@ghouls/core";
import type { Config } from "../config.ts";
import { once, openRuntime, queueOfArn, type RuntimeOverrides } from "../runtime.ts";
import { announced, executionOf, releasesOf } from "./execution.ts";
import { guardProcess } from "./left-behind.ts";
import type { LambdaContext, SqsBatchResponse, SqsEvent } from "./lambda.ts";

/**
 * The worker function: carries the runs that an SQS event names. Throws where nothing could be looked at, so that the
 * whole batch comes back; otherwise answers which messages come back.
 */
export function createWorker(
  config: Config,
  overrides: RuntimeOverrides = {},
): (event: SqsEvent, context: LambdaContext) => Promise<SqsBatchResponse> {
  const runtime = once(async () => {
    const opened = await openRuntime(config, overrides);
    guardProcess(opened.log);
    return { ...opened, releases: releasesOf(opened) };
  });
  return async (event, context) => {
    const opened = await runtime();
    const [first] = event.Records;
    if (first === undefined) return { batchItemFailures: [] };
    const queue = queueOfArn(first.eventSourceARN, opened.environment);
    await announced(opened);
    const settings = config.queues[queue];
    const endsByForce = !opened.environment.inspected && settings?.worker !== "process";
    const outcomes = await work(event.Records, executionOf(opened, opened.releases), {
      queue,
      limitMs: stepLimitMs(settings),
      // On one machine a function stands for the process, whose host ends it only with itself, and records its end.
      remainingMs: () => (settings?.worker === "process" ? ENDLESS_MS : context.getRemainingTimeInMillis()),
      endsByForce,
    });
    opened.metrics.flush();
    return {
      batchItemFailures: outcomes
        .filter((outcome) => !outcome.done)
        .map(({ messageId }) => ({ itemIdentifier: messageId })),
    };
  };
}
