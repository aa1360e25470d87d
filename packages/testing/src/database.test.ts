import { connect } from "node:net";
import { GhoulsError, workflow } from "ghouls";
import * as z from "zod";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openDatabase, startForAll } from "./database.ts";
import setup from "./global-setup.ts";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.string(),
  run: (ctx, name) => ctx.step("greet", () => `Hello, ${name}`),
});

const db = await databaseOfTheRun();
const schemas = async () => {
  const found = await db.admin<{ name: string }>(
    "select nspname as name from pg_namespace where nspname like 'ghouls\\_test\\_%'",
  );
  return found.map(({ name }) => name);
};
beforeEach(() => {
  vi.stubEnv("DATABASE_URL", db.applicationUrl);
  vi.stubEnv("GHOULS_MIGRATION_DATABASE_URL", db.migratorUrl);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("with a database of one's own", () => {
  test("each Ghouls has a schema of its own, which goes with it, so that parallel files do not meet", async () => {
    const [one, other] = await Promise.all([
      startGhouls({ workflows: [hello] }),
      startGhouls({ workflows: [hello] }),
    ]);
    expect(await schemas()).toHaveLength(2);
    await one.clock.advance("30d");
    const run = await other.submit(hello, "Ada");
    expect((await other.clock.now()).getTime()).toBeLessThan((await one.clock.now()).getTime());
    expect(await run.result()).toBe("Hello, Ada");
    await one.stop();
    expect(await run.status()).toBe("DONE");
    await other.stop();
    expect(await schemas()).toEqual([]);
  });

  test("one that is named is used, as the same role throughout", async () => {
    await using ghouls = await startGhouls({ workflows: [hello], databaseUrl: db.migratorUrl });
    const run = await ghouls.submit(hello, "Bob");
    expect(await run.result()).toBe("Hello, Bob");
    const owners = await db.admin(
      "select distinct tableowner from pg_tables where schemaname like 'ghouls\\_test\\_%'",
    );
    expect(owners).toEqual([{ tableowner: "test_migrator" }]);
  });

  test("DATABASE_URL alone is migrator and application", async () => {
    vi.stubEnv("DATABASE_URL", db.migratorUrl);
    vi.stubEnv("GHOULS_MIGRATION_DATABASE_URL", undefined);
    await using ghouls = await startGhouls({ workflows: [hello] });
    expect(await (await ghouls.submit(hello, "Eve")).result()).toBe("Hello, Eve");
  });

  test("a role that may not create schemas is refused, with what to grant", async () => {
    const refused = await startGhouls({ workflows: [hello], databaseUrl: db.applicationUrl }).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(GhoulsError);
    expect(refused).toMatchObject({
      code: "configuration_invalid",
      message: `the role "test_app" may not create a schema in the database "${db.name}"`,
      fix: expect.stringContaining(`grant create on database "${db.name}" to "test_app"`),
    });
  });

  test("a URL that names no user, or one that does not exist, is refused and leaves nothing", async () => {
    const { host } = new URL(db.applicationUrl);
    vi.stubEnv("DATABASE_URL", `postgres://${host}/${db.name}`);
    await expect(startGhouls({ workflows: [hello] })).rejects.toThrow("names no user");
    vi.stubEnv("DATABASE_URL", "nonsense");
    await expect(startGhouls({ workflows: [hello] })).rejects.toThrow("names no user");
    vi.stubEnv("DATABASE_URL", `postgres://nobody_at_all@${host}/${db.name}`);
    await expect(startGhouls({ workflows: [hello] })).rejects.toThrow('"nobody_at_all" does not exist');
    expect(await schemas()).toEqual([]);
  });
});

describe("without a database", () => {
  test("one server is started for the process, and ends with the last that uses it", async () => {
    const [one, other] = await Promise.all([
      openDatabase(undefined, bare()),
      openDatabase(undefined, bare()),
    ]);
    expect(other.applicationUrl).toBe(one.applicationUrl);
    expect(other.applicationUrl).not.toContain(db.name);
    await one.close();
    expect(await listens(other.applicationUrl)).toBe(true);
    await other.close();
    expect(await listens(other.applicationUrl)).toBe(false);
  });

  test("a server that does not start is told to everybody who waits for it, and the next one may", async () => {
    const env = { ...bare(), NODE_OPTIONS: "--require=/nowhere/at/all.cjs" };
    const ends = await Promise.allSettled([openDatabase(undefined, env), openDatabase(undefined, env)]);
    for (const end of ends) {
      expect(end).toMatchObject({
        status: "rejected",
        reason: { code: "internal", fix: expect.stringContaining("/nowhere/at/all.cjs") },
      });
    }
    const next = await openDatabase(undefined, bare());
    await next.close();
  });
});

describe("the global setup", () => {
  test("starts one server, which the environment hands to every worker, and ends it", async () => {
    const env: NodeJS.ProcessEnv = bare();
    const stop = await startForAll(env);
    const { applicationUrl, close } = await openDatabase(undefined, env);
    expect(Object.values(env)).toContain(applicationUrl);
    await close();
    // A second project of the same run takes what is there.
    const nothing = await startForAll(env);
    await nothing();
    const again = await openDatabase(undefined, env);
    expect(again.applicationUrl).toBe(applicationUrl);
    await again.close();
    expect(await listens(applicationUrl)).toBe(true);
    await stop();
    expect(await listens(applicationUrl)).toBe(false);
    expect(Object.values(env)).not.toContain(applicationUrl);
  });

  test("starts none where DATABASE_URL names one", async () => {
    const before = { ...process.env };
    const stop = await setup();
    await stop();
    expect(process.env).toEqual(before);
  });
});

/** The environment without any database. */
function bare(): NodeJS.ProcessEnv {
  const { DATABASE_URL: _application, GHOULS_MIGRATION_DATABASE_URL: _migration, ...env } = process.env;
  return env;
}

/** Whether somebody answers where a URL leads. */
function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
