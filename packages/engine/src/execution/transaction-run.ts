import {
  describeFailure,
  idempotencyKeyOf,
  retryDelayMs,
  type CallId,
  type Failure,
  type Logger,
  type StepContext,
  type Transaction,
  nameInLog,
} from "@ghouls/core";
import { LedgerError, type ClaimedRun, type UserTransaction } from "@ghouls/ledger";
import { inSpan } from "../tracing.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { HopEnd } from "./hop-end.ts";
import { UNTIMED_MS, askForAPerson, whyNotNow } from "./live-step.ts";
import { persist } from "./persist.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import { callOnce, isNonRetryable, pause } from "./step-run.ts";
import type { Commit, Sealed } from "./transaction-commit.ts";
import { HandedOut, ROLLBACK_MS, isConnectionLost, isInTheWay } from "./user-transaction.ts";

export interface LiveTransaction {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly run: (tx: Transaction) => unknown;
  readonly options: ResolvedStepOptions;
  readonly hopSignal: AbortSignal;
  readonly log: Logger;
  readonly invocation: Invocation;
  /** Has the hop commit it between two entries of its journal, so that the code gets results in the order of these. */
  readonly commit: (commit: Omit<Commit, "tookMs">) => Promise<Sealed>;
}

export type TransactionEnd =
  /** Committed, and its code has gone on with the result. */
  | { readonly outcome: "kept" }
  | { readonly outcome: "error"; readonly failure: Failure; readonly tries: number }
  | { readonly outcome: "abandoned"; readonly tries: number }
  | { readonly outcome: "stops"; readonly end: HopEnd };

type TryEnd =
  | Extract<TransactionEnd, { outcome: "kept" | "stops" }>
  | { readonly outcome: "abandoned" }
  | { readonly outcome: "failed"; readonly failure: Failure; readonly final: boolean };

/** Rolled back, for a reason that may be gone the next time, and is not the function's. */
type CallEnd = TryEnd | { readonly outcome: "again"; readonly failure: Failure };

/** How often a function is called within one try. */
const MAX_CALLS = 5;
const FIRST_PAUSE_MS = 20;

/**
 * Carries a transaction (design.md §3, Step): calls its function until it was committed with its entry, or its tries are
 * used up. What was certainly rolled back for no fault of the function is no try. Never rejects.
 */
export function runTransaction(transaction: LiveTransaction, deps: ExecutionDeps): Promise<TransactionEnd> {
  const attributes = { "ghouls.run_id": transaction.claim.runId, "ghouls.step": transaction.call.name };
  return inSpan("ghouls.transaction", { attributes }, async (span) => {
    const end = await transacted(transaction, deps);
    span.setAttribute("ghouls.outcome", end.outcome);
    return end;
  });
}

async function transacted(transaction: LiveTransaction, deps: ExecutionDeps): Promise<TransactionEnd> {
  const { options, hopSignal, log, call } = transaction;
  try {
    for (let tryNumber = 1; ; tryNumber += 1) {
      const end = await oneTry(transaction, tryNumber, deps);
      if (end.outcome === "abandoned") return { outcome: "abandoned", tries: tryNumber };
      if (end.outcome !== "failed") return end;
      const { failure } = end;
      if (end.final || tryNumber >= options.tries) return { outcome: "error", failure, tries: tryNumber };
      log.warn("a try of a transaction failed", {
        step: call.name,
        try: tryNumber,
        error: nameInLog(failure.name),
      });
      await pause(retryDelayMs(options.backoff, tryNumber + 1, deps.chance()), hopSignal);
      if (hopSignal.aborted) return { outcome: "abandoned", tries: tryNumber };
    }
  } catch (error) {
    // The function's own errors are its failure: what fails beside it is the ledger.
    return { outcome: "stops", end: { kind: "unknown", error } };
  }
}

async function oneTry(transaction: LiveTransaction, tryNumber: number, deps: ExecutionDeps): Promise<TryEnd> {
  const { hopSignal, log, call } = transaction;
  for (let calls = 1; ; calls += 1) {
    const end = await oneCall(transaction, tryNumber, deps);
    if (end.outcome !== "again") return end;
    if (hopSignal.aborted) return { outcome: "abandoned" };
    if (calls >= MAX_CALLS) return { outcome: "failed", failure: end.failure, final: false };
    log.info("a transaction was rolled back and is tried again", {
      step: call.name,
      error: nameInLog(end.failure.name),
    });
    await pause(FIRST_PAUSE_MS * 2 ** calls * (0.5 + deps.chance()), hopSignal);
    if (hopSignal.aborted) return { outcome: "abandoned" };
  }
}

async function oneCall(
  transaction: LiveTransaction,
  tryNumber: number,
  deps: ExecutionDeps,
): Promise<CallEnd> {
  const { call, claim, options, hopSignal } = transaction;
  const begun = await begin(transaction, deps);
  if ("outcome" in begun) return begun;
  const limitMs = deps.settings.leaseHeld ? UNTIMED_MS : options.timeoutMs;
  const { ledger, clock, faults } = deps;
  const tx = new HandedOut({ name: call.name, ledger, begun, limitMs, nowMs: () => clock.monotonicMs() });
  const stop = () => tx.stop(new Error(`transaction "${call.name}": its run does not go on here`));
  hopSignal.addEventListener("abort", stop, { once: true });
  if (hopSignal.aborted) stop();
  try {
    const run = (context: StepContext) => transaction.run(tx.context(context));
    const end = await callOnce(
      {
        name: call.name,
        idempotencyKey: idempotencyKeyOf(claim.firstRunId, call),
        options: { timeoutMs: limitMs },
        run,
        hopSignal,
        log: transaction.log,
        overdueAfterMs: deps.settings.overdueAfterMs,
        onOverdue: () => askForAPerson(transaction, deps),
      },
      tryNumber,
    );
    await tx.close();
    await faults("worker.after-transaction", call.name);
    if (tx.stoppedBy !== undefined) return hopSignal.aborted ? { outcome: "abandoned" } : late(tx.stoppedBy);
    if (end.outcome === "error") return failureOf(end.thrown, end.failure, tx);
    const sealed = await transaction.commit({ call, claim, begun, tx, value: end.value, tries: tryNumber });
    if (sealed.kind === "failed" && hopSignal.aborted) return { outcome: "abandoned" };
    return ofSealed(sealed);
  } finally {
    hopSignal.removeEventListener("abort", stop);
    await tx.rollBack();
  }
}

/** A transaction that has begun; or, where there is no time left for one, or no ledger, how it ends instead. */
async function begin(
  transaction: LiveTransaction,
  deps: ExecutionDeps,
): Promise<UserTransaction | Extract<TryEnd, { outcome: "stops" | "abandoned" }>> {
  const { call, claim, options, invocation, hopSignal, log } = transaction;
  const { settings, ledger } = deps;
  const notNow = () => whyNotNow(call.name, options.timeoutMs, claim, deps, invocation);
  const stops = (end: HopEnd) => ({ outcome: "stops", end }) as const;
  const turnMs = () => invocation.remainingMs() - settings.settleReserveMs - options.timeoutMs;
  await deps.faults("worker.before-transaction", call.name);
  try {
    const begun = await persist(
      async () => {
        if (hopSignal.aborted || notNow() !== undefined) return null;
        return ledger.transactions.begin(
          settings.leaseHeld ? UNTIMED_MS : options.timeoutMs,
          Math.max(0, Math.min(UNTIMED_MS, turnMs())),
        );
      },
      {
        chance: deps.chance,
        mayGoOn: () => !hopSignal.aborted && notNow() === undefined,
        onPause: (error) => log.warn("the ledger is out of reach; a transaction waits", { kind: error.kind }),
      },
    );
    if (begun !== null && !hopSignal.aborted && notNow() === undefined) return begun;
    await begun?.rollback(ROLLBACK_MS);
  } catch (error) {
    if (!(error instanceof LedgerError) || notNow() === undefined) throw error;
  }
  if (hopSignal.aborted) return { outcome: "abandoned" };
  return stops(notNow() ?? { kind: "yielded", why: "time" });
}

/** Its time was over before its function had ended. */
function late(error: Error): TryEnd {
  return { outcome: "failed", failure: describeFailure(error), final: false };
}

function failureOf(thrown: unknown, failure: Failure, { failure: failed }: HandedOut): CallEnd {
  if (isNonRetryable(thrown)) return { outcome: "failed", failure, final: true };
  const again = failed !== undefined && (isInTheWay(failed.error) || isConnectionLost(failed.error));
  return again ? { outcome: "again", failure } : { outcome: "failed", failure, final: false };
}

function ofSealed(sealed: Sealed): CallEnd {
  switch (sealed.kind) {
    case "kept":
      return { outcome: "kept" };
    case "stops":
      return { outcome: "stops", end: sealed.end };
    case "again":
      return { outcome: "again", failure: sealed.failure };
    case "failed":
      return { outcome: "failed", failure: sealed.failure, final: false };
  }
}
