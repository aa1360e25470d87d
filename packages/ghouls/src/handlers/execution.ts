import { createKeyAuthority, createLedgerGrants, type ExecutionDeps } from "@ghouls/engine";
import { errorInLog } from "@ghouls/core";
import { createReleases } from "../releases/loader.ts";
import { openStoreOf } from "../releases/store.ts";
import type { Runtime } from "../runtime.ts";
import { drainSignal } from "./draining.ts";

/** Announces this build's workflows. Never rejects. */
export async function announced({ announce, log }: Runtime): Promise<void> {
  try {
    await announce();
  } catch (error) {
    // Whoever looks for a build that has a workflow learns of this one later; runs are carried all the same.
    log.warn("this build's workflows could not be announced", { error: errorInLog(error) });
  }
}

/** Code that this build lacks; made once, because it keeps what it has loaded. */
export function releasesOf(runtime: Runtime): ExecutionDeps["releases"] {
  const { ledger, log } = runtime;
  return createReleases({ ledger, store: openStoreOf(runtime), log });
}

/** What the engine needs to carry runs in this process. */
export function executionOf(runtime: Runtime, releases: ExecutionDeps["releases"]): ExecutionDeps {
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
    live: runtime.live,
    clock,
    chance: Math.random,
    draining: drainSignal(),
    exit: (why) => {
      log.error("the process ends: it must not come back to life with a step in flight", { why });
      process.exit(1);
    },
  };
}
