import { beforeEach, describe, expect, test } from "vitest";
import { command } from "../support/command.ts";
import { testDatabase } from "../support/database.ts";

/** `ghouls grants` over a real ledger. */

const db = await testDatabase();
const ledger = db.ledger();
beforeEach(async () => {
  await db.admin("truncate ghouls.grants");
});

const { ghouls } = command();
const grants = (argv: readonly string[], env: Record<string, string> = { DATABASE_URL: db.migratorUrl }) =>
  ghouls(["grants", ...argv], env);
const CREATE = ["create", "reports:write", "--tenant", "acme", "--holder", "user:ada"];
const created = async (...more: string[]) => (await grants([...CREATE, ...more])).out.trimEnd();

describe("ghouls grants create", () => {
  test("prints the id alone on stdout, and who may hold what until when beside it", async () => {
    const { code, out, err } = await grants([...CREATE, "--expires", "90d", "--by", "bob"]);
    expect(code).toBe(0);
    const [made] = await ledger.grants.page({}, 10);
    expect(made).toMatchObject({
      tenantId: "acme",
      name: "reports:write",
      holder: "user:ada",
      createdBy: "bob",
    });
    expect(out).toBe(`${made?.grantId}\n`);
    expect(err).toBe(
      `grant ${made?.grantId}: runs of user:ada in tenant acme may hold reports:write, until ${made?.expiresAt?.toISOString()}\n`,
    );
  });

  test("prints all of it as JSON", async () => {
    const { out } = await grants([...CREATE, "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      grantId: expect.stringMatching(/^[0-9a-f]{16}$/),
      expiresAt: null,
      createdBy: "database role test_migrator",
      expired: false,
    });
  });

  test.each([
    ["no capability", ["create", "--tenant", "t", "--holder", "user:a"], "name"],
    ["no tenant", ["create", "x", "--holder", "user:a"], "--tenant"],
    ["no holder", ["create", "x", "--tenant", "t"], "--holder"],
    ["a holder of no kind", ["create", "x", "--tenant", "t", "--holder", "ada"], "role:<name>"],
    ["a holder of two lines", ["create", "x", "--tenant", "t", "--holder", "user:a\nb"], "one line"],
    ["an end that is no duration", [...CREATE, "--expires", "soon"], '"90d"'],
  ])("with %s is called wrongly, and makes none", async (_what, argv, told) => {
    const outcome = await grants(argv);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain(told);
    expect(await ledger.grants.page({}, 10)).toEqual([]);
  });

  test("as the application's role says which role may", async () => {
    const outcome = await grants(CREATE, { DATABASE_URL: db.applicationUrl });
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain("this role may not manage grants");
    expect(outcome.err).toContain("Fix: Give the connection string of the role that owns the schema");
  });
});

describe("ghouls grants list", () => {
  test("shows who may hold what, and whether it can be used", async () => {
    const usable = await created();
    const expired = await created("--expires", "1d");
    await db.admin("update ghouls.grants set expires_at = ghouls.clock() where grant_id = $1", [expired]);
    const revoked = await created();
    await grants(["revoke", revoked, "--reason", "no more"]);
    const { code, out } = await grants(["list"]);
    expect(code).toBe(0);
    const lines = out.split("\n").map((line) => line.split(/ {2,}/).slice(0, 5));
    expect(lines).toEqual([
      ["STATE", "GRANT", "TENANT", "NAME", "HOLDER"],
      ["revoked", revoked, "acme", "reports:write", "user:ada"],
      ["expired", expired, "acme", "reports:write", "user:ada"],
      ["usable", usable, "acme", "reports:write", "user:ada"],
      [""],
    ]);
  });

  test("can be one tenant's and is bounded, and says where it is", async () => {
    for (let nth = 0; nth < 3; nth += 1) await created();
    const { out, err } = await grants(["list", "--tenant", "acme", "--limit", "2"]);
    expect(out.trimEnd().split("\n")).toHaveLength(3);
    expect(err).toContain("There are more");
    const none = await grants(["list", "--tenant", "umbrella", "--json"]);
    expect(JSON.parse(none.out)).toEqual({ grants: [], hasMore: false });
  });
});

describe("ghouls grants revoke", () => {
  test("ends a grant once, and keeps who did it and why", async () => {
    const id = await created();
    expect((await grants(["revoke", id, "--reason", "no more", "--by", "bob"])).out).toBe(
      `revoked ${id}: reports:write of user:ada\n`,
    );
    expect(await grants(["revoke", id, "--reason", "once more"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^revoked before, 20.* by bob: no more\n$/),
    });
    const json = await grants(["revoke", id, "--reason", "once more", "--json"]);
    expect(JSON.parse(json.out)).toMatchObject({ revoked: false, grantId: id, revokedBy: "bob" });
  });

  test("wants a reason, and says that there is no such grant", async () => {
    expect(await grants(["revoke", "g"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--reason"),
    });
    const none = await grants(["revoke", "g", "--reason", "x"]);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("there is no such grant") });
  });
});
