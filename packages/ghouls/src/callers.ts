import { GhoulsError } from "@ghouls/core";
import type { CallerConnection } from "@ghouls/ledger";

/**
 * Transactions of others' libraries as `admit` takes them. Each is known by its shape alone: an application that admits brings
 * the library along, and nobody else needs it.
 */

type Query = CallerConnection["query"];
type Rows = Awaited<ReturnType<Query>>["rows"];

/**
 * A transaction of Drizzle over node-postgres: `db.transaction((tx) => admitter.admit(fromDrizzle(tx), …))`.
 * @throws GhoulsError wrong_transaction for one over another driver, or for a database outside of any transaction
 */
export function fromDrizzle(tx: object): CallerConnection {
  const { session } = tx as { readonly session?: { readonly client?: unknown } };
  // A pool has connections to give, and a transaction has one.
  const client = session?.client as { readonly query?: unknown; readonly totalCount?: unknown } | undefined;
  if (typeof client?.query !== "function" || client.totalCount !== undefined)
    throw refusal(
      "Drizzle transaction over node-postgres",
      "Pass the `tx` that db.transaction(async (tx) => …) gives.",
    );
  const query = (client.query as (text: string, values: unknown[]) => Promise<{ rows: Rows }>).bind(client);
  return { query: (text, values) => query(text, values) };
}

/**
 * A transaction of Kysely over PostgreSQL: `db.transaction().execute((trx) => admitter.admit(fromKysely(trx), …))`.
 * @throws GhoulsError wrong_transaction for a database outside of any transaction
 */
export function fromKysely(trx: object): CallerConnection {
  const { isTransaction, executeQuery } = trx as {
    readonly isTransaction?: unknown;
    readonly executeQuery?: unknown;
  };
  if (isTransaction !== true || typeof executeQuery !== "function")
    throw refusal(
      "Kysely transaction",
      "Pass the `trx` that db.transaction().execute(async (trx) => …) gives.",
    );
  const execute = (executeQuery as (query: object) => Promise<{ rows: Rows }>).bind(trx);
  return {
    query: (text, values) =>
      execute({
        sql: text,
        parameters: values,
        query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
        queryId: { queryId: "ghouls.admit" },
      }),
  };
}

function refusal(what: string, fix: string): GhoulsError {
  return new GhoulsError("wrong_transaction", `this is no ${what}`, { fix });
}
