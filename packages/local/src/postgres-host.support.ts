import { startPostgres } from "./postgres.ts";

/** A host that only starts PostgreSQL and says its process numbers, to be killed by a test. */
const log = { line: () => undefined, follow: () => undefined, close: () => Promise.resolve() };
const dataDir = process.argv[2] ?? "";
const postgres = await startPostgres({ dataDir, password: "secret-1", env: process.env, log });
process.stdout.write(JSON.stringify([postgres.pid, postgres.keeperPid]));
