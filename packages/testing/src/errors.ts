import type { Failure, RunFailureCode, RunStatus, wire } from "@ghouls/core";

/** What a run that ended without a result rejects with. */
export class RunFailedError extends Error {
  readonly runId: string;
  readonly status: "FAILED" | "CANCELLED";
  /** Stable: compare it, never the message. */
  readonly code: RunFailureCode | "cancelled";
  /** What was thrown, or refused, as the ledger keeps it; with the step where it was a step's. */
  readonly failure: Failure & { readonly step?: string };

  constructor(view: wire.RunView) {
    const { error, workflow } = view;
    const status = view.status === "CANCELLED" ? "CANCELLED" : "FAILED";
    const code = error?.code ?? (status === "CANCELLED" ? "cancelled" : "workflow_failed");
    const { name, message, stack, step } = error ?? { name: "Cancelled", message: "it was cancelled" };
    super(`the run of "${workflow.name}" is ${status} (${code}): ${name}: ${message}`);
    this.name = "RunFailedError";
    this.runId = view.runId;
    this.status = status;
    this.code = code;
    this.failure = {
      name,
      message,
      ...(stack === undefined ? {} : { stack }),
      ...(step === undefined ? {} : { step }),
    };
  }
}

/** Nothing that is due will bring the run further: the message says what it waits for, and what to write. */
export class RunWaitsError extends Error {
  readonly runId: string;
  readonly status: RunStatus;
  readonly waits: readonly wire.OpenWait[];

  constructor(view: wire.RunView, why: string) {
    super(`the run of "${view.workflow.name}" is ${view.status}: ${why}`);
    this.name = "RunWaitsError";
    this.runId = view.runId;
    this.status = view.status;
    this.waits = view.waits;
  }
}
