import { errorInLog, type Logger, type Metrics, type PassName } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import type { ReconcileReport } from "./reconcile.ts";

export interface MeasureOptions {
  readonly ledger: Pick<Ledger, "health">;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Measures what a round did, and what waits in the ledger after it. Never rejects: a round is done without it. */
export async function measure(report: ReconcileReport, options: MeasureOptions): Promise<void> {
  const { ledger, metrics, log } = options;
  for (const [pass, { repaired, error }] of Object.entries(report) as [
    PassName,
    ReconcileReport[PassName],
  ][]) {
    if (repaired > 0) metrics.record("Repairs", repaired, pass);
    if (error !== undefined) metrics.record("PassesInterrupted", 1, pass);
  }
  try {
    const health = await ledger.health();
    metrics.record("OldestUnrepaired", health.oldestUnrepairedSeconds);
    metrics.record("DegradedOwners", health.degradedOwners);
    metrics.record("RunsWithAttention", health.runsWithAttention);
    metrics.record("QuarantinedRuns", health.quarantinedRuns);
    metrics.record("IntegrityFaults", health.integrityFaults);
    metrics.record("ForeignDeadLetters", health.foreignDeadLetters);
  } catch (error) {
    log.warn("what waits in the ledger could not be measured", { error: errorInLog(error) });
  }
}
