import { LiveRing, createKeyAuthority, createLedgerGrants, work, type ExecutionDeps } from "@ghouls/engine";
import { durationMs, errorInLog } from "@ghouls/core";
import type { Config } from "../config.ts";
import { once, openRuntime, queueOfArn, type Runtime, type RuntimeOverrides } from "../runtime.ts";
import { createReleases } from "../releases/loader.ts";
import { drainSignal } from "./draining.ts";
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
    const { ledger, releaseStore: store, log } = opened;
    return { ...opened, releases: createReleases({ ledger, store, log }) };
  });
  const live = new LiveRing();
  return async (event, context) => {
    const opened = await runtime();
    const [first] = event.Records;
    if (first === undefined) return { batchItemFailures: [] };
    const queue = queueOfArn(first.eventSourceARN, opened.environment);
    await announced(opened);
    const outcomes = await work(event.Records, executionOf(opened, live, opened.releases), {
      queue,
      limitMs: durationMs(config.queues[queue]?.functionTimeout ?? "15m"),
      remainingMs: () => context.getRemainingTimeInMillis(),
      endsByForce: !opened.environment.inspected,
    });
    opened.metrics.flush();
    return {
      batchItemFailures: outcomes
        .filter((outcome) => !outcome.done)
        .map(({ messageId }) => ({ itemIdentifier: messageId })),
    };
  };
}

async function announced({ announce, log }: Runtime): Promise<void> {
  try {
    await announce();
  } catch (error) {
    // Whoever looks for a build that has a workflow learns of this one later; runs are carried all the same.
    log.warn("this build's workflows could not be announced", { error: errorInLog(error) });
  }
}

function executionOf(
  runtime: Runtime,
  live: ExecutionDeps["live"],
  releases: ExecutionDeps["releases"],
): ExecutionDeps {
  const { ledger, queue, publisher, registry, codec, ids, faults, log, logWith, worker, settings, clock } =
    runtime;
  const { metrics } = runtime;
  return {
    ledger,
    queue,
    publisher,
    registry,
    releases,
    codec,
    ids,
    faults,
    metrics,
    log,
    worker,
    settings,
    decisionSources: runtime.config.decisionSources,
    delegation: runtime.delegation,
    queues: Object.keys(runtime.config.queues),
    authority: runtime.config.authority ?? createKeyAuthority(ledger),
    grants: runtime.config.grants ?? createLedgerGrants(ledger),
    capacities: runtime.config.capacities,
    logFor: ({ runId, seq }) =>
      logWith({
        runId,
        enqueueSeq: seq,
      }),
    live,
    clock,
    chance: Math.random,
    draining: drainSignal(),
    exit: (why) => {
      log.error("the process ends: it must not come back to life with a step in flight", { why });
      process.exit(1);
    },
  };
}
