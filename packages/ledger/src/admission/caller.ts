import { GhoulsError } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { LedgerError, classify } from "../connection/errors.ts";
import { bindSchema, readStatement, writeStatement } from "../sql/statement.ts";

/** What a caller's own connection must offer: `pg`'s Client and PoolClient do. */
export interface CallerConnection {
  query(text: string, values: unknown[]): Promise<{ rows: Row[] }>;
}

const STATE = readStatement(
  "caller.state",
  `
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`,
);
const RESTORE = writeStatement(
  "caller.restore",
  "select set_config('lock_timeout', $1::text, true) as lock_timeout",
);

/**
 * Our statements on a caller's connection, inside the caller's transaction. No retry and no read-back: the commit is the
 * caller's. Statements are not named, because the caller's connection is not ours to fill.
 */
export function executorOn(connection: CallerConnection, schema: string): Executor {
  return {
    run: async (statement, values) => {
      try {
        return (await connection.query(bindSchema(statement.text, schema), [...values])).rows;
      } catch (error) {
        const { kind, sqlState } = classify(error, false);
        throw new LedgerError(kind, statement.name, sqlState, error);
      }
    },
  };
}

/**
 * Carries out an admission in the caller's transaction and gives the caller's lock_timeout back.
 * @throws GhoulsError wrong_transaction where there is no transaction, or one that is not READ COMMITTED: a loser of the
 *   key could not see the winner's run there
 */
export async function inCallersTransaction<T>(executor: Executor, body: () => Promise<T>): Promise<T> {
  const [state] = await executor.run(STATE, []);
  const isolation = String(state?.["isolation"]);
  if (isolation !== "read committed") {
    throw new GhoulsError(
      "wrong_transaction",
      `an admission inside a ${isolation.toUpperCase()} transaction is refused`,
      {
        fix: "Use READ COMMITTED for the transaction that admits.",
      },
    );
  }
  // Outside a transaction every statement begins one of its own; inside one BEGIN did.
  if (state?.["begins_transaction"] === true) {
    throw new GhoulsError("wrong_transaction", "this connection is not inside a transaction", {
      fix: "Send BEGIN first, and COMMIT after your own statements; then publish the receipt.",
    });
  }
  const value = await body();
  await executor.run(RESTORE, [String(state?.["lock_timeout"])]);
  return value;
}
