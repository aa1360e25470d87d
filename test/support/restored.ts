import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { testDatabase, type TestDatabase } from "./database.ts";
import { POSTGRES_15 } from "./setups/binaries.ts";

const run = promisify(execFile);

/**
 * A ledger as it is restored from a backup of now: a dump of PostgreSQL's own tools where the server comes with them, and a copy of
 * the database where it does not.
 */
export async function restoredFrom(original: TestDatabase): Promise<TestDatabase> {
  if (inject("way") !== "postgres15") return testDatabase(inject("postgres"), original.name);
  const folder = await mkdtemp(join(tmpdir(), "ghouls-dump-"));
  try {
    const file = join(folder, "ledger.dump");
    await run(join(POSTGRES_15, "pg_dump"), [
      "--format=custom",
      "--schema=ghouls",
      `--file=${file}`,
      original.adminUrl,
    ]);
    const copy = await testDatabase();
    await copy.admin("drop schema ghouls cascade");
    await run(join(POSTGRES_15, "pg_restore"), ["--exit-on-error", `--dbname=${copy.adminUrl}`, file]);
    return copy;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
