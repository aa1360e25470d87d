import pg from "pg";
// @ts-expect-error -- this part of pg-types has no types
import textParsers from "pg-types/lib/textParsers.js";
import { surviveLostConnections, type OpenPool } from "./driver.ts";

/** Registers what node-postgres makes of the texts of each type by itself. */
type Init = (register: (oid: number, parse: (text: string) => unknown) => void) => void;
const { init } = textParsers as { readonly init: Init };

/**
 * What node-postgres makes of values by itself. `pg.types` belongs to the whole process, and an application may have bigint
 * or times come as something else there: the ledger reads its rows all the same.
 */
const parsers = new Map<number, (text: string) => unknown>();
init((oid, parse) => void parsers.set(oid, parse));
const types = { getTypeParser: (oid: number) => parsers.get(oid) ?? String };

export const openPgPool: OpenPool = (settings) => {
  const pool = new pg.Pool({ ...settings, types } as pg.PoolConfig);
  surviveLostConnections(pool);
  return pool;
};
