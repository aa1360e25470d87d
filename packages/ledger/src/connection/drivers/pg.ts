import pg from "pg";
import { surviveLostConnections, type OpenPool } from "./driver.ts";

export const openPgPool: OpenPool = (settings) => {
  const pool = new pg.Pool(settings as pg.PoolConfig);
  surviveLostConnections(pool);
  return pool;
};
