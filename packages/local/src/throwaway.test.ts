import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { isAlive } from "ghouls/processes/alive";
import { startThrowawayPostgres } from "./throwaway.ts";

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-throwaways-"));
  chmodSync(parent, 0o755);
});
afterEach(() => chmodSync(parent, 0o755));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("a PostgreSQL that is thrown away flushes nothing, and its folder goes with it", async () => {
  const postgres = await startThrowawayPostgres({ parent });
  expect(readdirSync(parent)).toHaveLength(1);
  const client = new pg.Client({ connectionString: postgres.adminUrl });
  await client.connect();
  expect((await client.query("show fsync")).rows).toEqual([{ fsync: "off" }]);
  await client.end();
  await postgres.stop();
  expect(isAlive(postgres.pid)).toBe(false);
  expect(readdirSync(parent)).toEqual([]);
});

test("without a folder it takes memory or the temporary files", async () => {
  const postgres = await startThrowawayPostgres();
  await postgres.stop();
  expect(isAlive(postgres.pid)).toBe(false);
});

test("where its host is killed, server and folder go as well", async () => {
  const host = spawn(process.execPath, [
    fileURLToPath(new URL("throwaway-host.support.ts", import.meta.url)),
    parent,
  ]);
  const [said] = (await once(host.stdout, "data")) as [Buffer];
  const [pid = 0, keeperPid = 0] = JSON.parse(said.toString()) as number[];
  expect(isAlive(pid)).toBe(true);
  host.kill("SIGKILL");
  await expect
    .poll(() => [isAlive(pid), isAlive(keeperPid), readdirSync(parent)])
    .toEqual([false, false, []]);
});

test("one that does not start leaves no folder, and tells its last lines", async () => {
  const env = { ...process.env, NODE_OPTIONS: "--require=/nowhere/at/all.cjs" };
  await expect(startThrowawayPostgres({ parent, env })).rejects.toMatchObject({
    code: "internal",
    message: expect.stringContaining("PostgreSQL ended before it was ready"),
    fix: expect.stringContaining("/nowhere/at/all.cjs"),
  });
  expect(readdirSync(parent)).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)(
  "as root it refuses a folder that the server's user cannot get to, before it starts one",
  async () => {
    chmodSync(parent, 0o700);
    await expect(startThrowawayPostgres({ parent })).rejects.toMatchObject({ code: "configuration_invalid" });
    expect(readdirSync(parent)).toEqual([]);
  },
);
