import { startThrowawayPostgres } from "./throwaway.ts";

/** A host that starts a PostgreSQL below the folder that it is given and says its process numbers, to be killed by a test. */
const postgres = await startThrowawayPostgres({ parent: process.argv[2] ?? "" });
process.stdout.write(JSON.stringify([postgres.pid, postgres.keeperPid]));
