import { errorInLog, type Logger, type MetricName, type Metrics, type PassName } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { answerWithin } from "../patience.ts";
import type { ReconcileReport } from "./reconcile.ts";

export interface MeasureOptions {
  readonly ledger: Pick<Ledger, "health">;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
}

/** Of what remains, what one question to the ledger after the passes may take: the next one has its time too. */
export const afterPassesMs = (remainingMs: () => number): number =>
  Math.max(0, Math.min(5_000, remainingMs() / 2));

/** Measures what a round did, and what waits in the ledger after it. Never rejects: a round is done without it. */
export async function measure(report: ReconcileReport, options: MeasureOptions): Promise<void> {
  const { ledger, metrics, log, remainingMs } = options;
  for (const [pass, { repaired, error }] of Object.entries(report) as [
    PassName,
    ReconcileReport[PassName],
  ][]) {
    if (repaired > 0) metrics.record("Repairs", repaired, pass);
    if (error !== undefined) metrics.record("PassesInterrupted", 1, pass);
  }
  try {
    const health = await answerWithin(ledger.health(), afterPassesMs(remainingMs));
    // What is nothing costs nothing: CloudWatch bills each measure for the hours in which it is told.
    const tell = (name: MetricName, value: number) => (value > 0 ? metrics.record(name, value) : undefined);
    tell("OldestUnrepaired", health.oldestUnrepairedSeconds);
    tell("DegradedOwners", health.degradedOwners);
    tell("RunsWithAttention", health.runsWithAttention);
    tell("QuarantinedRuns", health.quarantinedRuns);
    tell("IntegrityFaults", health.integrityFaults);
    tell("ForeignDeadLetters", health.foreignDeadLetters);
  } catch (error) {
    log.warn("what waits in the ledger could not be measured", { error: errorInLog(error) });
  }
}
