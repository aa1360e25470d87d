import type { CallId, Claim } from "@ghouls/core";
import type { Database } from "../connection/database.ts";
import type { Answer } from "../connection/drivers/driver.ts";
import { LedgerError } from "../connection/errors.ts";
import type { OpenTransaction } from "../connection/open-transaction.ts";
import { lockRuns } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { appendOnce, readEntryOfCall, type EntryOfCall, type NewEntry } from "./journal.ts";

/** A transaction for statements of the user's, which ends with the entry of its call, or without a trace. */
export interface UserTransaction {
  /** The transaction's own number: who has it is inside of it still. */
  readonly xid: string;
  readonly open: OpenTransaction;
  /** Gives the connection back, whatever the server answers, within these milliseconds. Does nothing where it has ended. */
  rollback(withinMs: number): Promise<void>;
}

/**
 * Limits for as long as the transaction lives, since a pooler drops what a session sets; and its number, by which it is
 * known in the end whether it is the same one still.
 */
const LIMIT = readStatement(
  "transactions.limit",
  `
select pg_current_xact_id()::text as xid, set_config('statement_timeout', $1::text, true) as statement_timeout,
  set_config('lock_timeout', $1::text, true) as lock_timeout,
  set_config('idle_in_transaction_session_timeout', $1::text, true) as idle_timeout`,
);

/** What a server may take longer than its own limit to answer, in milliseconds. */
const GRACE_MS = 1_000;

/**
 * Begins one, once there is a turn: a connection is left for what is short, where there are two. Null where no turn came in
 * time.
 * @param limitMs how long a statement, a wait for a lock, and a pause between two statements may take each
 * @throws LedgerError where there is no connection; nothing has happened
 */
export async function beginUserTransaction(
  database: Database,
  limitMs: number,
  turnWithinMs: number,
): Promise<UserTransaction | null> {
  if (!(await database.turns.take(turnWithinMs))) return null;
  let isTaken = true;
  const giveBack = () => {
    if (isTaken) database.turns.give();
    isTaken = false;
  };
  try {
    const open = await database.begin("transactions", limitMs + GRACE_MS, giveBack);
    try {
      return { open, xid: await limit(open, limitMs), rollback: (withinMs) => open.rollback(withinMs) };
    } catch (error) {
      await open.rollback();
      throw error;
    }
  } catch (error) {
    giveBack();
    throw error;
  }
}

async function limit(open: OpenTransaction, limitMs: number): Promise<string> {
  const [row] = await open.run(LIMIT, [String(Math.max(1, Math.ceil(limitMs)))]);
  return rows(row ?? {}).text("xid");
}

/** Sets its limits anew. @throws LedgerError */
export async function limitTransaction(
  _database: Database,
  { open }: UserTransaction,
  limitMs: number,
): Promise<void> {
  await limit(open, limitMs);
}

/** One statement of the user's. @throws what the driver throws */
export async function askInTransaction(
  _database: Database,
  { open }: UserTransaction,
  text: string,
  values: readonly unknown[],
): Promise<Answer> {
  return open.ask(text, values);
}

export type EntryCommit =
  | { readonly kind: "committed"; readonly ordinal: number; readonly completedAt: Date }
  /** The claim is gone. Rolled back. */
  | { readonly kind: "fenced" }
  /** Its statements have ended the transaction: nobody knows what of them was committed. Without an entry. */
  | { readonly kind: "left" }
  /** Certainly: COMMIT was not sent, or was refused. */
  | { readonly kind: "rolled_back"; readonly at: "limit" | "entry" | "commit"; readonly error: LedgerError }
  /** COMMIT was sent and its answer lost: {@link readEntryBack} tells. */
  | { readonly kind: "unknown"; readonly error: LedgerError };

/**
 * Ends a transaction with the entry of its call, under the fence, in its last statement before COMMIT, so that nobody waits
 * for the user's statements (design.md §3, Step). It has ended, and its connection is back, whatever is answered.
 */
export async function commitEntryIfClaimed(
  _database: Database,
  { open, xid }: UserTransaction,
  claim: Claim,
  entry: NewEntry,
  limitMs: number,
): Promise<EntryCommit> {
  let at: "limit" | "entry" | "commit" = "limit";
  try {
    if ((await limit(open, limitMs)) !== xid) return { kind: "left" };
    at = "entry";
    const written = await appendOnce(open, claim, entry);
    if (written === null) return { kind: "fenced" };
    at = "commit";
    await open.commit();
    return { kind: "committed", ...written };
  } catch (error) {
    const failed = error instanceof LedgerError ? error : lost(error);
    // Whatever else it is that comes of a COMMIT, it is no word of PostgreSQL's.
    if (at === "commit" && (failed.kind === "unknown" || failed !== error))
      return { kind: "unknown", error: failed };
    return { kind: "rolled_back", at, error: failed };
  } finally {
    await open.rollback();
  }
}

/** Of a connection that gave no answer in time. */
function lost(error: unknown): LedgerError {
  return new LedgerError("unavailable", "transactions", undefined, error);
}

/**
 * What became of a COMMIT whose answer was lost. The entry's statement held the run's lock before COMMIT was sent, so whoever
 * gets the lock after it knows: the entry is there, or the transaction was rolled back. Null where it was.
 */
export async function readEntryBack(
  database: Database,
  claim: Claim,
  call: CallId,
): Promise<EntryOfCall | null> {
  return database.transaction("transactions.read-back", async (transaction) => {
    await lockRuns(transaction, [claim]);
    return readEntryOfCall(transaction, claim, call);
  });
}
