/**
 * Named fault points: every I/O call goes past one before it starts and after it has answered, so that a test can kill,
 * delay, repeat or lose it. In production {@link noFaults} does nothing.
 */
export const FAULT_POINTS = [
  "ledger.before-statement",
  "ledger.after-statement",
  "ledger.before-commit",
  "ledger.after-commit",
  "secrets.before-read",
  "secrets.after-read",
  "queue.before-publish",
  "queue.after-publish",
  "queue.before-receive",
  "queue.after-receive",
  "queue.before-visibility",
  "queue.after-visibility",
  "queue.before-delete",
  "queue.after-delete",
  "admission.after-commit",
  "admission.after-publish",
  "worker.after-claim",
  "worker.before-beat",
  "worker.before-intent",
  "worker.after-intent",
  "worker.before-step",
  "worker.after-step",
  "worker.after-journal",
  "worker.before-handover",
  "worker.after-handover",
  "worker.before-settle",
  "worker.after-settle",
  "worker.before-replay-check",
  "worker.after-replay-check",
  "relay.after-select",
  "relay.after-publish",
  "reanimation.after-select",
  "reanimation.after-judgement",
  "containment.after-select",
  "containment.after-look",
  "holds.after-select",
  "holds.after-expiry",
  "hint.before-read",
  "hint.after-read",
  "hint.before-lower",
  "hint.after-lower",
  "hint.before-raise",
  "hint.after-raise",
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

/** Called at a fault point with what the caller knows about it. A rejection takes the place of the I/O's own. */
export type FaultInjector = (point: FaultPoint, detail: string) => void | Promise<void>;

export const noFaults: FaultInjector = () => undefined;
