import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isAlive, untilGone } from "ghouls/processes/alive";
import { freePort } from "./free-port.ts";
import { openLog } from "./log.ts";
import type { HostLog } from "./log.ts";
import { startPostgres } from "./postgres.ts";
import type { Postgres } from "./postgres.ts";
import { endLeftover, isInitialised, postmasterOf } from "./postmaster.ts";

// Real processes on a machine that may be busy.

// PostgreSQL's own user has to reach the folder where the test runs as root.
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-postgres-"));
chmodSync(folder, 0o755);
const started: Postgres[] = [];
let log: HostLog;

beforeAll(() => {
  log = openLog(join(folder, "log"), () => undefined);
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((postgres) => postgres.stop()));
});
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<Postgres> {
  const postgres = await startPostgres({ dataDir: folder, password: "secret-1", env: process.env, log });
  started.push(postgres);
  return postgres;
}

async function query(postgres: Postgres, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: postgres.adminUrl });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query({ text, rowMode: "array" })).rows.flat();
  } finally {
    await client.end();
  }
}

describe("the embedded PostgreSQL", () => {
  test("keeps its data over a restart, listens on loopback only, and wants its password", async () => {
    const first = await start();
    expect(await query(first, "show server_version_num")).toEqual([expect.stringMatching(/^18/)]);
    expect(await query(first, "show listen_addresses")).toEqual(["127.0.0.1"]);
    await query(first, "create table kept as select 42 as value");
    const wrong = { ...first, adminUrl: first.urlFor({ name: "postgres", password: "wrong" }) };
    await expect(query(wrong, "select 1")).rejects.toThrow(/password/);
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    expect(isAlive(first.keeperPid)).toBe(false);
    const second = await start();
    expect(await query(second, "select value from kept")).toEqual([42]);
  });

  test("a server left by a killed keeper is ended by the next start, and what was committed is there", async () => {
    const first = await start();
    await query(first, "create table committed as select 7 as value");
    process.kill(first.keeperPid, "SIGKILL");
    await first.ended;
    expect(isAlive(first.pid)).toBe(true);
    expect(await postmasterOf(join(folder, "postgres"))).toBe(first.pid);
    const second = await start();
    expect(isAlive(first.pid)).toBe(false);
    expect(await query(second, "select value from committed")).toEqual([7]);
  });

  test("a server that lost its keeper is ended by stopping it", async () => {
    const postgres = await start();
    process.kill(postgres.keeperPid, "SIGKILL");
    await postgres.ended;
    expect(isAlive(postgres.pid)).toBe(true);
    await postgres.stop();
    expect(isAlive(postgres.pid)).toBe(false);
  });

  test("stops where its host was killed", async () => {
    const host = spawn(
      process.execPath,
      [new URL("./postgres-host.support.ts", import.meta.url).pathname, folder],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const [chunk] = (await once(host.stdout, "data")) as [Buffer];
    const pids = JSON.parse(chunk.toString()) as number[];
    expect(pids.map(isAlive)).toEqual([true, true]);
    host.kill("SIGKILL");
    for (const pid of pids) expect(await untilGone(pid, 10_000)).toBe(true);
  });

  test("its end ends the keeper", async () => {
    const postgres = await start();
    process.kill(postgres.pid, "SIGQUIT");
    expect(await postgres.ended).toEqual({ code: 1, signal: null });
  });

  test("is killed at once where that is asked", async () => {
    const postgres = await start();
    postgres.kill();
    // Its keeper is killed too, or ends by itself when it sees the server gone first.
    const ends = [
      { code: null, signal: "SIGKILL" },
      { code: 1, signal: null },
    ];
    expect(ends).toContainEqual(await postgres.ended);
    expect(await untilGone(postgres.pid, 10_000)).toBe(true);
  });

  test("an unfinished initialisation is begun anew", async () => {
    const dataDir = join(folder, "half");
    mkdirSync(join(dataDir, "postgres.draft"), { recursive: true });
    writeFileSync(join(dataDir, "postgres.draft", "rest"), "");
    const postgres = await startPostgres({ dataDir, password: "x", env: process.env, log });
    started.push(postgres);
    expect(await query(postgres, "select 1")).toEqual([1]);
  });

  test("a folder of another major version is refused by name, and left as it is", async () => {
    const dataDir = join(folder, "old");
    mkdirSync(join(dataDir, "postgres"), { recursive: true });
    writeFileSync(join(dataDir, "postgres", "PG_VERSION"), "15\n");
    const starting = startPostgres({ dataDir, password: "x", env: process.env, log });
    await expect(starting).rejects.toMatchObject({
      message: expect.stringMatching(/belongs to PostgreSQL 15, and this is PostgreSQL 18/),
      fix: expect.stringContaining("--data-dir"),
    });
    await expect(isInitialised(join(dataDir, "postgres"))).rejects.toThrow(/PostgreSQL 15/);
  });

  test("a damaged folder tells that the server does not start", async () => {
    const dataDir = join(folder, "damaged");
    mkdirSync(join(dataDir, "postgres"), { recursive: true });
    writeFileSync(join(dataDir, "postgres", "PG_VERSION"), "18\n");
    const starting = startPostgres({ dataDir, password: "x", env: process.env, log });
    await expect(starting).rejects.toThrow(/PostgreSQL could not start: .*ended while it was starting/);
  });

  test("a folder that cannot be made tells why", async () => {
    writeFileSync(join(folder, "file"), "");
    const starting = startPostgres({ dataDir: join(folder, "file"), password: "x", env: process.env, log });
    await expect(starting).rejects.toThrow(/PostgreSQL could not start/);
  });
});

describe("a postmaster.pid that names no server of this folder", () => {
  test("is removed, and the process that has the number now is not touched", async () => {
    const databaseDir = join(folder, "stale");
    mkdirSync(databaseDir);
    const pidFile = join(databaseDir, "postmaster.pid");
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    const otherFolder = join(folder, "elsewhere");
    for (const text of [
      `${other.pid}\n${databaseDir}\n`,
      `${other.pid}\n${otherFolder}\n`,
      `${2 ** 30}\n${databaseDir}\n`,
      "",
      "1\n",
      "words\n",
    ]) {
      writeFileSync(pidFile, text);
      expect(await endLeftover(databaseDir)).toBe(false);
      expect(existsSync(pidFile)).toBe(false);
    }
    expect(isAlive(other.pid ?? 0)).toBe(true);
    other.kill("SIGKILL");
    expect(await isInitialised(databaseDir)).toBe(false);
    expect(await endLeftover(databaseDir)).toBe(false);
  });
});

test("a free port can be listened on", async () => {
  const { createServer } = await import("node:net");
  const port = await freePort();
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
});
