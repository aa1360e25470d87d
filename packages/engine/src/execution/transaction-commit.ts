import { describeFailure, type CallId, type Failure } from "@ghouls/core";
import type { ClaimedRun, EntryCommit, EntryOfCall, NewEntry, UserTransaction } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { JournalWriter } from "./journal-writer.ts";
import { verified } from "./loaded-journal.ts";
import { isConnectionLost, isInTheWay, type HandedOut } from "./user-transaction.ts";

/** A transaction whose function has returned. */
export interface Commit {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly begun: UserTransaction;
  readonly tx: HandedOut;
  readonly value: unknown;
  readonly tries: number;
  readonly tookMs: number;
}

/** What has become of it. Its connection has been given back. */
export type Sealed =
  | {
      readonly kind: "kept";
      readonly text: string | undefined;
      readonly tries: number;
      readonly completedAt: Date;
    }
  | { readonly kind: "stops"; readonly end: HopEnd }
  /** Certainly rolled back: by no fault of its function, or by one of its statements. */
  | { readonly kind: "again" | "failed"; readonly failure: Failure };

const stops = (end: HopEnd): Sealed => ({ kind: "stops", end });

/** Commits a transaction with its entry: both, or neither. Never rejects. */
export async function commitTransaction(
  commit: Commit,
  writer: JournalWriter,
  deps: ExecutionDeps,
): Promise<Sealed> {
  const { call, claim, tx, begun, value, tries, tookMs } = commit;
  const prepared = await writer.prepare(call, { outcome: "ok", value, tries }, tookMs);
  const limitMs = tx.settle();
  try {
    if (limitMs === 0)
      return { kind: "failed", failure: describeFailure(tx.stoppedBy ?? new Error("it was rolled back")) };
    if ("end" in prepared) return stops(prepared.end);
    const { entry, text } = prepared;
    const answer = await deps.ledger.transactions.commitIfClaimed(begun, claim, entry, limitMs);
    if (answer.kind === "unknown") return await readBack(commit, entry, writer, deps);
    if (answer.kind !== "committed") return withoutEntry(call, answer, tx);
    await writer.keep(entry, answer);
    return { kind: "kept", text, tries, completedAt: answer.completedAt };
  } catch (error) {
    return stops({ kind: "unknown", error });
  } finally {
    await tx.rollBack();
  }
}

function withoutEntry(
  call: CallId,
  answer: Exclude<EntryCommit, { kind: "committed" | "unknown" }>,
  tx: HandedOut,
): Sealed {
  if (answer.kind === "fenced") return stops({ kind: "fenced" });
  if (answer.kind === "left") {
    const left = `transaction "${call.name}" was ended by one of its own statements: what it did before may be committed, without an entry in the journal. Let ctx.transaction begin and end it`;
    return stops(refusal("invalid_call", left, call.name));
  }
  const { at, error } = answer;
  // PostgreSQL refuses to go on after a statement that has failed, and the function did not let that be known.
  if (error.sqlState === "25P02" || /answered ROLLBACK/.test(error.message)) {
    const first = tx.failure?.error;
    const failure = {
      ...describeFailure(first ?? error),
      message: `a statement failed, and the function returned all the same: nothing can be committed after it, so all was rolled back. Roll back to a SAVEPOINT to go on after a failure (it was: ${describeFailure(first).message.slice(0, 500)})`,
    };
    return {
      kind: isInTheWay(first) || (first !== undefined && isConnectionLost(first)) ? "again" : "failed",
      failure,
    };
  }
  const failure = describeFailure(error.cause ?? error);
  if (error.kind !== "defect" && error.kind !== "schema") return { kind: "again", failure };
  // A constraint or a trigger that was deferred, or a role that the function has set.
  if (at === "commit" || error.sqlState === "42501") return { kind: "failed", failure };
  return stops({ kind: "unknown", error });
}

/** The answer to COMMIT was lost: the journal tells, and nobody is called again before it has. */
async function readBack(
  commit: Commit,
  entry: NewEntry,
  writer: JournalWriter,
  deps: ExecutionDeps,
): Promise<Sealed> {
  const { call, claim } = commit;
  const found = await writer.insist(() => deps.ledger.transactions.readBack(claim, call));
  if (found === null) {
    const failure = {
      name: "Error",
      message: "the connection was lost at COMMIT, and nothing was committed",
    };
    return { kind: "again", failure };
  }
  if (found.token !== claim.token) return stops({ kind: "fenced" });
  const text = await textOf(found, claim, deps);
  await writer.keep(entry, found);
  return { kind: "kept", text, tries: found.tries, completedAt: found.completedAt };
}

/** The code gets what the journal has. */
async function textOf(
  { resultText, resultDigest, ordinal }: EntryOfCall,
  { tenantId, runId }: ClaimedRun,
  { codec }: Pick<ExecutionDeps, "codec">,
): Promise<string | undefined> {
  if (resultText === null) return undefined;
  return verified(resultText, resultDigest, `journal entry ${ordinal}`, (stored) =>
    codec.decode(stored, { tenantId, runId, kind: "result" }),
  );
}
