import type pg from "pg";
import "@ghouls/ledger";
import { STATEMENTS } from "../../packages/ledger/src/sql/statement.ts";

/**
 * The tag of each statement by the identifiers that the server gives it: pg_stat_statements of PostgreSQL 18 keeps neither
 * the comment nor the constants of a text. A statement has two where the server analyses it anew with parameters whose
 * types it knows by then.
 */
export async function readTags(admin: pg.Pool): Promise<ReadonlyMap<string, string>> {
  const client = await admin.connect();
  try {
    const tags = new Map<string, string>();
    for (const { name, text } of STATEMENTS.values()) {
      const ids = [await identifierOf(client, `explain (verbose, generic_plan) ${text}`)];
      await client.query(`prepare bench as ${text}`);
      const types = await parameterTypes(client);
      await client.query("deallocate bench");
      if (types.length > 0) {
        await client.query(`prepare bench (${types.join(", ")}) as ${text}`);
        const nulls = types.map(() => "null").join(", ");
        ids.push(await identifierOf(client, `explain (verbose) execute bench (${nulls})`));
        await client.query("deallocate bench");
      }
      for (const id of ids) if (id !== undefined) tags.set(id, name);
    }
    return tags;
  } finally {
    client.release(true);
  }
}

async function identifierOf(client: pg.PoolClient, explain: string): Promise<string | undefined> {
  const { rows } = await client.query<Record<"QUERY PLAN", string>>(explain);
  return /^Query Identifier: (-?\d+)$/m.exec(rows.map((row) => row["QUERY PLAN"]).join("\n"))?.[1];
}

async function parameterTypes(client: pg.PoolClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'bench'",
  );
  return rows[0]?.types ?? [];
}
