import { GhoulsError } from "@ghouls/core";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { folder, ghouls, NO_RELEASES } from "../fakes.support.ts";
import type { Diagnosis, Io, LedgerTools, LocalHost } from "../io.ts";

const missing = (name: string) =>
  Object.assign(new Error(`Cannot find package '${name}' imported from io.ts`), {
    code: "ERR_MODULE_NOT_FOUND",
  });

const openStoppedDatabase = () => Promise.reject(new Error("this test did not expect a database"));

describe("dev", () => {
  const dev = async (argv: string[], world: Partial<Io>) => {
    const cwd = await folder({ "ghouls.config.ts": "" });
    return { cwd, outcome: await ghouls(["dev", ...argv], { cwd, ...world }) };
  };

  it("hands whole paths to @ghouls/local, and a port only where one was given", async () => {
    const runDev = vi.fn<LocalHost["runDev"]>(() => Promise.resolve(0));
    const loadLocal = () => Promise.resolve({ runDev, openStoppedDatabase });
    const { cwd, outcome } = await dev([], { loadLocal });
    expect(outcome).toEqual({ code: 0, out: "", err: "" });
    await ghouls(["dev", "--port", "0", "--once", "--data-dir", "/data"], { cwd, loadLocal });
    await ghouls(["dev", "--no-watch", "--inspect"], { cwd, loadLocal });
    await ghouls(["dev", "--inspect=0"], { cwd, loadLocal });
    const common = { config: join(cwd, "ghouls.config.ts"), json: false };
    expect(runDev.mock.calls).toEqual([
      [{ ...common, dataDir: join(cwd, ".ghouls"), once: false, watch: true }],
      [{ ...common, dataDir: "/data", once: true, watch: true, port: 0 }],
      [{ ...common, dataDir: join(cwd, ".ghouls"), once: false, watch: false, inspect: 9229 }],
      [{ ...common, dataDir: join(cwd, ".ghouls"), once: false, watch: true, inspect: 0 }],
    ]);
  });

  it("ends with the host's exit code, or with 1 and its fix where it throws", async () => {
    const failed = await dev(["--json"], {
      loadLocal: () => Promise.resolve({ runDev: () => Promise.resolve(1), openStoppedDatabase }),
    });
    expect(failed.outcome).toMatchObject({ code: 1, out: "" });
    const thrown = new GhoulsError("configuration_invalid", "two workflows of one name", {
      fix: "Rename one.",
    });
    const refused = await dev([], {
      loadLocal: () => Promise.resolve({ runDev: () => Promise.reject(thrown), openStoppedDatabase }),
    });
    expect(refused.outcome).toEqual({
      code: 1,
      out: "",
      err: "ghouls: two workflows of one name\n  Fix: Rename one.\n",
    });
  });

  it("says how to install @ghouls/local where it is not there", async () => {
    const { outcome } = await dev([], { loadLocal: () => Promise.reject(missing("@ghouls/local")) });
    expect(outcome.code).toBe(1);
    expect(outcome.err).toContain("Fix: Run `npm install --save-dev @ghouls/local`.");
  });

  it("does not blame @ghouls/local where something else is missing", async () => {
    const { outcome } = await dev([], { loadLocal: () => Promise.reject(missing("fauxqs")) });
    expect(outcome.err).toContain("fauxqs");
    expect(outcome.err).not.toContain("--save-dev");
  });

  it("says that there is no configuration before it starts anything", async () => {
    const outcome = await ghouls(["dev"]);
    expect(outcome.code).toBe(1);
    expect(outcome.err).toMatch(/there is no .*ghouls\.config\.ts\n {2}Fix: Run `ghouls init`/);
    const cwd = await folder();
    expect(await ghouls(["dev", "--config", "a".repeat(5_000)], { cwd })).toMatchObject({ code: 1 });
  });
});

function ledger(tools: Partial<LedgerTools>): LedgerTools {
  const unused = () => {
    throw new Error("not expected");
  };
  return { migrate: unused, migrationSql: unused, openLedger: unused, openStores: unused, ...tools };
}

describe("migrate", () => {
  it("prefers the migrator's own connection, and tells what was applied", async () => {
    const migrate = vi.fn<LedgerTools["migrate"]>(() =>
      Promise.resolve({ applied: [{ number: 1, name: "runs" }] }),
    );
    const env = { DATABASE_URL: "postgres://app", GHOULS_MIGRATION_DATABASE_URL: "postgres://owner" };
    const world = { env, ledger: ledger({ migrate }) };
    expect(await ghouls(["migrate"], world)).toEqual({ code: 0, out: "applied 1 runs\n", err: "" });
    await ghouls(["migrate", "--database-url", "postgres://x", "--schema", "s", "--app-role", "r"], world);
    await ghouls(["migrate"], { ...world, env: { DATABASE_URL: "postgres://app" } });
    expect(migrate.mock.calls.map(([options]) => Object.values(options))).toEqual([
      ["postgres://owner", "ghouls", "ghouls_app"],
      ["postgres://x", "s", "r"],
      ["postgres://app", "ghouls", "ghouls_app"],
    ]);
  });

  it("says that nothing was left to do", async () => {
    const world = {
      env: { DATABASE_URL: "x" },
      ledger: ledger({ migrate: () => Promise.resolve({ applied: [] }) }),
    };
    expect((await ghouls(["migrate"], world)).out).toBe("The schema ghouls is up to date.\n");
    expect(JSON.parse((await ghouls(["migrate", "--json"], world)).out)).toEqual({
      schema: "ghouls",
      applied: [],
    });
  });

  it("prints the SQL without any database", async () => {
    const migrationSql: LedgerTools["migrationSql"] = ({ schema, applicationRole }) =>
      `-- ${schema} ${applicationRole}`;
    const world = { ledger: ledger({ migrationSql }) };
    expect(await ghouls(["migrate", "--print", "--schema", "s"], world)).toEqual({
      code: 0,
      out: "-- s ghouls_app\n",
      err: "",
    });
    expect(JSON.parse((await ghouls(["migrate", "--print", "--json"], world)).out)).toEqual({
      sql: "-- ghouls ghouls_app",
    });
  });

  it("names the variables where no database is given", async () => {
    const outcome = await ghouls(["migrate"]);
    expect(outcome.code).toBe(2);
    expect(outcome.err).toContain("GHOULS_MIGRATION_DATABASE_URL");
  });

  it.each([
    [
      "a server out of reach",
      Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" }),
      "ECONNREFUSED",
    ],
    [
      "a refusal of the ledger",
      new GhoulsError("configuration_invalid", "this role may not change the schema", {
        fix: "Use another.",
      }),
      "Use another.",
    ],
    ["an error without a message", Object.assign(new Error(""), { code: "XX000" }), "XX000"],
    ["no Error at all", "boom", "boom"],
  ])("tells %s and no stack", async (_case, thrown, told) => {
    const migrate = () => Promise.reject(thrown as Error);
    const outcome = await ghouls(["migrate"], { env: { DATABASE_URL: "x" }, ledger: ledger({ migrate }) });
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain(told);
    expect(outcome.err).not.toContain("    at ");
  });
});

describe("doctor", () => {
  const doctor = async (
    diagnoses: readonly Diagnosis[] | Error,
    argv: string[] = [],
    world: Partial<Io> = {},
  ) => {
    const opened: unknown[] = [];
    let closed = 0;
    const openLedger: LedgerTools["openLedger"] = (options) => {
      opened.push(options);
      return {
        doctor: () => (diagnoses instanceof Error ? Promise.reject(diagnoses) : Promise.resolve(diagnoses)),
        releases: NO_RELEASES,
        runs: { repinIfUnclaimed: () => Promise.reject(new Error("the doctor only looks")) },
        evidence: { verify: () => Promise.reject(new Error("nobody asked for all of it")) },
        integrity: {
          judge: () => Promise.reject(new Error("the doctor only looks")),
          acknowledge: () => Promise.reject(new Error("the doctor only looks")),
        },
        close: () => Promise.resolve(void (closed += 1)),
      };
    };
    const outcome = await ghouls(["doctor", ...argv], {
      env: { DATABASE_URL: "url" },
      ...world,
      ledger: ledger({ openLedger }),
    });
    return { ...outcome, opened, closed };
  };
  const OK: Diagnosis = { check: "one open delivery", ok: true, rows: [] };
  const BROKEN: Diagnosis = {
    check: "pending has a next publication",
    ok: false,
    rows: [{ run_id: "r1", count: 2n, at: new Date(0), note: "a\u001b[2J" }],
  };

  it("is 0 where all holds, on one connection that it closes", async () => {
    const outcome = await doctor([OK]);
    expect(outcome).toMatchObject({ code: 0, err: "", closed: 1 });
    expect(outcome.out).toBe("RESULT  ROWS  CHECK\nok      0     one open delivery\n");
    expect(outcome.opened).toEqual([{ connectionString: "url", schema: "ghouls", maxConnections: 1 }]);
  });

  it("is 1 with the rows that break an invariant", async () => {
    const outcome = await doctor([OK, BROKEN]);
    expect(outcome.code).toBe(1);
    expect(outcome.out).toContain("BROKEN  1     pending has a next publication\n");
    expect(outcome.out).toContain(
      String.raw`  {"run_id":"r1","count":"2","at":"1970-01-01T00:00:00.000Z","note":"a\u001b[2J"}`,
    );
    const json = await doctor([BROKEN], ["--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      checks: [{ ok: false, rows: [{ count: "2" }] }],
    });
  });

  it("is 1 where it checked nothing: silence is no health", async () => {
    expect(await doctor([])).toMatchObject({ code: 1 });
  });

  it("closes the connection where a check fails to run, and says why", async () => {
    const outcome = await doctor(
      new GhoulsError("schema_outdated", "the schema is older", { fix: "Run `ghouls migrate`." }),
    );
    expect(outcome).toMatchObject({
      code: 1,
      closed: 1,
      err: "ghouls: the schema is older\n  Fix: Run `ghouls migrate`.\n",
    });
  });

  it("finds the database of the running host, and says so where there is none", async () => {
    const cwd = await folder({
      ".ghouls/dev.json": JSON.stringify({ apiUrl: "http://x", databaseUrl: "dev-url" }),
    });
    const found = await doctor([OK], ["--schema", "s"], { env: {}, cwd });
    expect(found.opened).toEqual([{ connectionString: "dev-url", schema: "s", maxConnections: 1 }]);
    const none = await doctor([OK], [], { env: {} });
    expect(none).toMatchObject({ code: 2, opened: [] });
    expect(none.err).toContain("DATABASE_URL");
  });
});
