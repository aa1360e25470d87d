import pg from "pg";
import textParsers from "pg-types/lib/textParsers.js";
import { surviveLostConnections, type OpenPool } from "./driver.ts";

/**
 * What node-postgres makes of values by itself. `pg.types` belongs to the whole process, and an application may have bigint
 * or times come as something else there: the ledger reads its rows all the same.
 */
const parsers = new Map<number, (text: string) => unknown>();
textParsers.init((oid, parse) => void parsers.set(oid, parse));
const types = { getTypeParser: (oid: number) => parsers.get(oid) ?? String };

export const openPgPool: OpenPool = (settings) => {
  const pool = new pg.Pool({ ...settings, types } as pg.PoolConfig);
  surviveLostConnections(pool);
  return pool;
};
