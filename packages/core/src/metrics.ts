/**
 * What a deployment is measured by, each with its unit and, where it has one, the name of what it is told apart by. Names
 * as CloudWatch shows them; alarms and the dashboard take them from here.
 */
export const METRICS = {
  /** Since when the oldest of all that the reconciler looks after has been due: 0 where nothing is. */
  OldestUnrepaired: { unit: "Seconds", by: null },
  /** Owners that a pass could not look after, and that take turns of their own. */
  DegradedOwners: { unit: "Count", by: null },
  /** Runs that ask for a person, the quarantined ones among them. */
  RunsWithAttention: { unit: "Count", by: null },
  QuarantinedRuns: { unit: "Count", by: null },
  /** Contradictions that nobody has acknowledged. */
  IntegrityFaults: { unit: "Count", by: null },
  /** Messages of dead-letter queues that name nothing of this ledger. */
  ForeignDeadLetters: { unit: "Count", by: null },
  /** Passes that an error has interrupted. */
  PassesInterrupted: { unit: "Count", by: "pass" },
  /** What the reconciler has repaired. */
  Repairs: { unit: "Count", by: "pass" },
  /** How long after its time a timer has brought its run back. */
  TimerLateness: { unit: "Seconds", by: null },
  WorkersLost: { unit: "Count", by: null },
  /** Deliveries that a worker has not claimed. */
  DeliveriesSkipped: { unit: "Count", by: "reason" },
  /** Runs that a hop has brought to their end; others are ended by the reconciler, or by a word. */
  RunsSettled: { unit: "Count", by: "status" },
} as const satisfies Readonly<
  Record<string, { readonly unit: "Seconds" | "Count"; readonly by: string | null }>
>;

/** The namespace of all that is measured, in CloudWatch. */
export const METRICS_NAMESPACE = "Ghouls";
/** The dimension that names the deployment, as Powertools calls it. */
export const DEPLOYMENT_DIMENSION = "service";

export type MetricName = keyof typeof METRICS;

/** Where measures go. Calls return at once, and never throw. */
export interface Metrics {
  /** @param which what it is told apart by, of those that have it: a code, never an id */
  record(name: MetricName, value: number, which?: string): void;
  /** At the end of an invocation: what was recorded is written out. */
  flush(): void;
}

export const noMetrics: Metrics = { record: () => undefined, flush: () => undefined };
