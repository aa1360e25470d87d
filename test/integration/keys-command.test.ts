import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseApiKey } from "@ghouls/core";
import { command } from "../support/command.ts";
import { testDatabase } from "../support/database.ts";
import { asMigrator } from "../support/keys.ts";

/** `ghouls keys` over a real ledger. */

const db = await testDatabase();
beforeEach(async () => {
  await db.admin("truncate ghouls.api_keys");
});

const { cwd, ghouls } = command();
const keys = (argv: readonly string[], env: Record<string, string> = { DATABASE_URL: db.migratorUrl }) =>
  ghouls(["keys", ...argv], env);

const CREATE = ["create", "--tenant", "acme", "--subject", "user:ada"];
const created = async (...more: string[]) => {
  const { out } = await keys([...CREATE, "--json", ...more]);
  return JSON.parse(out) as { key: string; keyId: string; digest?: string };
};
const ledger = db.ledger();

describe("ghouls keys create", () => {
  test("prints the key alone on stdout, and of it keeps the digest only", async () => {
    const { code, out, err } = await keys([
      ...CREATE,
      "--role",
      "operator",
      "--role",
      "legal",
      "--expires",
      "90d",
    ]);
    expect(code).toBe(0);
    const parsed = parseApiKey(out.trimEnd());
    expect(await ledger.keys.byId(parsed?.keyId ?? "")).toMatchObject({
      tenantId: "acme",
      subject: "user:ada",
      roles: ["operator", "legal"],
      digest: parsed?.digest,
      createdBy: "database role test_migrator",
    });
    expect(err).toContain(`key ${parsed?.keyId} of user:ada in tenant acme, until 20`);
    expect(err).toContain("the role legal is not built in");
    expect(err).not.toContain(out.trimEnd());
    const stored = JSON.stringify(await db.admin("select * from ghouls.api_keys"));
    expect(stored).not.toContain(out.trimEnd().slice(24, 60));
  });

  test("prints all of it as JSON, but not the digest", async () => {
    const made = await created("--permission", "runs:read", "--permission", "runs:cancel", "--by", "bob");
    expect(made).toMatchObject({
      key: expect.stringContaining(`ghouls_${made.keyId}_`),
      permissions: ["runs:read", "runs:cancel"],
      createdBy: "bob",
      expiresAt: null,
    });
    expect(made.digest).toBeUndefined();
  });

  test.each([
    ["no tenant", ["create", "--subject", "s", "--role", "admin"], "--tenant"],
    ["no subject", ["create", "--tenant", "t", "--role", "admin"], "--subject"],
    ["neither role nor permission", CREATE, "Give --role or --permission"],
    ["a permission that is none", [...CREATE, "--permission", "runs:*"], "none of runs:submit"],
    ["a role that is no name", [...CREATE, "--role", "a,b"], "letters, digits"],
    ["an end that is no duration", [...CREATE, "--role", "admin", "--expires", "soon"], '"90d"'],
    ["an end that is now", [...CREATE, "--role", "admin", "--expires", "0d"], '"90d"'],
    [
      "a subject of two lines",
      ["create", "--tenant", "t", "--subject", "a\nb", "--role", "admin"],
      "one line",
    ],
    ["an empty tenant", ["create", "--tenant", " ", "--subject", "s", "--role", "admin"], "one line"],
  ])("with %s is called wrongly, and makes none", async (_what, argv, told) => {
    const outcome = await keys(argv);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain(told);
    expect(await ledger.keys.page({}, 10)).toEqual([]);
  });

  test("as the application's role says which role may", async () => {
    const outcome = await keys([...CREATE, "--role", "admin"], { DATABASE_URL: db.applicationUrl });
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain("Fix: Give the connection string of the role that owns the schema");
  });
});

describe("ghouls keys list", () => {
  test("shows what each key is and whether it can be used, and no secret", async () => {
    const usable = await created("--role", "operator");
    const expired = await created("--role", "viewer", "--expires", "1d");
    await db.admin("update ghouls.api_keys set expires_at = ghouls.clock() where key_id = $1", [
      expired.keyId,
    ]);
    const revoked = await created("--role", "viewer", "--permission", "runs:cancel");
    await keys(["revoke", revoked.keyId, "--reason", "it leaked"]);
    const { code, out } = await keys(["list"]);
    expect(code).toBe(0);
    const lines = out.split("\n").map((line) => line.split(/ {2,}/).slice(0, 5));
    expect(lines).toEqual([
      ["STATE", "KEY", "TENANT", "SUBJECT", "MAY"],
      ["revoked", revoked.keyId, "acme", "user:ada", "viewer,runs:cancel"],
      ["expired", expired.keyId, "acme", "user:ada", "viewer"],
      ["usable", usable.keyId, "acme", "user:ada", "operator"],
      [""],
    ]);
    for (const { key } of [usable, expired, revoked]) expect(out).not.toContain(key.slice(24, 60));
  });

  test("can be one tenant's and is bounded, and says where it is", async () => {
    for (let nth = 0; nth < 3; nth += 1) await created("--role", "viewer");
    const { out, err } = await keys(["list", "--tenant", "acme", "--limit", "2"]);
    expect(out.trimEnd().split("\n")).toHaveLength(3);
    expect(err).toContain("There are more");
    const none = await keys(["list", "--tenant", "umbrella", "--json"]);
    expect(JSON.parse(none.out)).toEqual({ keys: [], hasMore: false });
  });

  test("escapes what would move the cursor of whoever reads it", async () => {
    await asMigrator(db, (store) =>
      store.create([
        {
          tenantId: "t",
          keyId: "k",
          digest: "0".repeat(64),
          subject: "a\u001b[2J",
          roles: [],
          permissions: [],
          createdBy: null,
          expiresInMs: null,
        },
      ]),
    );
    expect((await keys(["list"])).out).toContain(String.raw`a\u001b[2J`);
  });
});

describe("ghouls keys revoke", () => {
  test("ends a key by its id, or by its text where that is what was found", async () => {
    const [one, other] = [await created("--role", "viewer"), await created("--role", "viewer")];
    expect((await keys(["revoke", one.keyId, "--reason", "it leaked"])).out).toBe(
      `revoked ${one.keyId} of user:ada\n`,
    );
    const json = await keys(["revoke", other.key, "--reason", "it leaked", "--by", "bob", "--json"]);
    expect(JSON.parse(json.out)).toMatchObject({ revoked: true, keyId: other.keyId, revokedBy: "bob" });
    const again = await keys(["revoke", other.keyId, "--reason", "once more"]);
    expect(again).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^revoked before, 20.* by bob: it leaked\n$/),
    });
  });

  test("wants a reason, and says that there is no such key", async () => {
    expect(await keys(["revoke", "k"])).toMatchObject({ code: 2, err: expect.stringContaining("--reason") });
    const none = await keys(["revoke", "k", "--reason", "x"]);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("there is no such key") });
  });
});

describe("the database of ghouls keys", () => {
  test("is the migrator's before the application's, and the running host's where nothing names one", async () => {
    const both = {
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/x",
      GHOULS_MIGRATION_DATABASE_URL: db.migratorUrl,
    };
    expect(await keys(["list"], both)).toMatchObject({ code: 0 });
    const nothing = await keys(["list"], {});
    expect(nothing).toMatchObject({ code: 2, err: expect.stringContaining("GHOULS_MIGRATION_DATABASE_URL") });
    mkdirSync(join(cwd, ".ghouls"));
    const dev = {
      apiUrl: "http://127.0.0.1:1",
      databaseUrl: db.applicationUrl,
      migrationUrl: db.migratorUrl,
    };
    writeFileSync(join(cwd, ".ghouls", "dev.json"), JSON.stringify(dev));
    expect(await keys([...CREATE, "--role", "admin"], {})).toMatchObject({ code: 0 });
  });
});
