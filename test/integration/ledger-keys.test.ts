import { beforeEach, describe, expect, test } from "vitest";
import { sha256 } from "@ghouls/core";
import { openLedger, type NewKey } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { asMigrator } from "../support/keys.ts";
import { blocked } from "../support/wait.ts";
import { movableClock } from "../support/world.ts";
import { MIGRATOR } from "../support/template.ts";

const db = await testDatabase();
await movableClock(db);
const advance = (seconds: number) =>
  db.admin("update ghouls.test_clock set ahead = ahead + $1 * interval '1 second'", [seconds]);
const ledger = db.ledger();
const DAY = 86_400_000;

const newKey = (change: Partial<NewKey> = {}): NewKey => ({
  tenantId: "acme",
  keyId: "k1",
  digest: sha256("the text of a key"),
  subject: "user:ada",
  roles: ["operator", "legal"],
  permissions: ["runs:read"],
  createdBy: null,
  expiresInMs: null,
  ...change,
});
const create = (...changes: Partial<NewKey>[]) => asMigrator(db, (keys) => keys.create(changes.map(newKey)));

beforeEach(async () => {
  await db.admin("truncate ghouls.api_keys");
  await db.admin("update ghouls.test_clock set ahead = '0 seconds'");
});

describe("a key", () => {
  test("is found by its id alone, with its tenant from its row", async () => {
    await create({}, { keyId: "k2", tenantId: "umbrella", roles: [], permissions: [] });
    expect(await ledger.keys.byId("k1")).toEqual({
      tenantId: "acme",
      keyId: "k1",
      digest: sha256("the text of a key"),
      subject: "user:ada",
      roles: ["operator", "legal"],
      permissions: ["runs:read"],
      createdBy: `database role ${MIGRATOR.name}`,
      createdAt: expect.any(Date),
      expiresAt: null,
      expired: false,
      lastUsedAt: null,
      useIsDue: true,
      revokedAt: null,
      revokedBy: null,
      revocationReason: null,
    });
    expect(await ledger.keys.byId("k2")).toMatchObject({ tenantId: "umbrella", roles: [], permissions: [] });
    expect(await ledger.keys.byId("k3")).toBeNull();
  });

  test("of an id is one, in whatever tenant: another with the same id is refused and changes nothing", async () => {
    await create({});
    const conflict = { code: "idempotency_conflict" };
    await expect(create({ digest: sha256("another") })).rejects.toMatchObject(conflict);
    await expect(create({ tenantId: "umbrella" })).rejects.toMatchObject(conflict);
    expect(await ledger.keys.page({}, 10)).toMatchObject([{ tenantId: "acme", keyId: "k1" }]);
  });

  test("that is made twice, as after a lost answer, is the same key and stays as it was", async () => {
    const [first] = await create({ createdBy: "ada" });
    expect(await create({ createdBy: "somebody else", roles: ["admin"], expiresInMs: 1 })).toEqual([first]);
  });

  test("expires at its moment by the ledger's clock", async () => {
    await create({ expiresInMs: DAY });
    expect(await ledger.keys.byId("k1")).toMatchObject({ expired: false });
    await advance(DAY / 1_000 + 1);
    expect(await ledger.keys.byId("k1")).toMatchObject({ expired: true, revokedAt: null });
  });

  test("is marked as used at most once an hour", async () => {
    await create({});
    await ledger.keys.markUsed({ tenantId: "acme", keyId: "k1" });
    const first = await ledger.keys.byId("k1");
    expect(first).toMatchObject({ lastUsedAt: expect.any(Date), useIsDue: false });
    await advance(1_800);
    await ledger.keys.markUsed({ tenantId: "acme", keyId: "k1" });
    expect(await ledger.keys.byId("k1")).toMatchObject({ lastUsedAt: first?.lastUsedAt, useIsDue: false });
    await advance(1_801);
    expect(await ledger.keys.byId("k1")).toMatchObject({ useIsDue: true });
    await ledger.keys.markUsed({ tenantId: "umbrella", keyId: "k1" });
    expect(await ledger.keys.byId("k1")).toMatchObject({ lastUsedAt: first?.lastUsedAt });
    await ledger.keys.markUsed({ tenantId: "acme", keyId: "k1" });
    expect((await ledger.keys.byId("k1"))?.lastUsedAt).not.toEqual(first?.lastUsedAt);
  });
});

describe("a revocation", () => {
  const revoke = (keyId: string, actor: string | null, reason: string) =>
    asMigrator(db, (keys) => keys.revoke(keyId, { actor, reason }));

  test("is final, and keeps who did it and why", async () => {
    await create({});
    expect(await revoke("k1", null, "it leaked")).toMatchObject({
      revoked: true,
      key: {
        revokedAt: expect.any(Date),
        revokedBy: `database role ${MIGRATOR.name}`,
        revocationReason: "it leaked",
      },
    });
    expect(await revoke("k1", "bob", "I was first")).toMatchObject({
      revoked: false,
      key: { revokedBy: `database role ${MIGRATOR.name}`, revocationReason: "it leaked" },
    });
    expect(await create({})).toMatchObject([{ revokedAt: expect.any(Date) }]);
    expect(await revoke("k9", null, "x")).toBeNull();
  });

  test("of two at once has one winner, whose words stay", async () => {
    await create({});
    const holder = await db.client("admin");
    await holder.query("begin");
    await holder.query("select from ghouls.api_keys where key_id = 'k1' for update");
    const both = [revoke("k1", "ada", "one"), revoke("k1", "bob", "two")];
    await blocked(db, 2);
    await holder.query("commit");
    const answers = await Promise.all(both);
    expect(answers.filter((answer) => answer?.revoked === true)).toHaveLength(1);
    expect(answers[0]?.key.revocationReason).toBe(answers[1]?.key.revocationReason);
  });
});

describe("the roles of a subject", () => {
  const roles = (subject = "user:ada", tenantId = "acme") =>
    ledger.keys.rolesOfSubject({ tenantId, subject });

  test("are those of all its keys in the tenant that can be used now", async () => {
    await create(
      { keyId: "k1", roles: ["operator", "legal"] },
      { keyId: "k2", roles: ["legal", "releaser"], expiresInMs: DAY },
      { keyId: "k3", roles: ["admin"], tenantId: "umbrella" },
      { keyId: "k4", roles: ["viewer"], subject: "user:bob" },
      { keyId: "k5", roles: [], subject: "user:eve" },
    );
    expect((await roles())?.toSorted()).toEqual(["legal", "operator", "releaser"]);
    await advance(DAY / 1_000 + 1);
    expect((await roles())?.toSorted()).toEqual(["legal", "operator"]);
    await asMigrator(db, (keys) => keys.revoke("k1", { actor: null, reason: "x" }));
    expect([await roles(), await roles("user:eve"), await roles("user:eve", "umbrella")]).toEqual([
      null,
      [],
      null,
    ]);
  });
});

describe("the list of keys", () => {
  test("is the newest first, of one tenant or of all, and bounded", async () => {
    await create({ keyId: "k1" });
    await create({ keyId: "k2", tenantId: "umbrella" });
    await create({ keyId: "k3" });
    const ids = async (filter: { tenantId?: string }, limit = 10) =>
      (await ledger.keys.page(filter, limit)).map(({ keyId }) => keyId);
    expect(await ids({})).toEqual(["k3", "k2", "k1"]);
    expect(await ids({}, 2)).toEqual(["k3", "k2"]);
    expect(await ids({ tenantId: "acme" })).toEqual(["k3", "k1"]);
    expect(await ids({ tenantId: "acme" }, 1)).toEqual(["k3"]);
    expect(await ids({ tenantId: "nobody" })).toEqual([]);
  });

  test("has no digest in it", async () => {
    await create({});
    expect(Object.keys((await ledger.keys.page({}, 10))[0] ?? {})).not.toContain("digest");
  });
});

describe("the application's role", () => {
  test("is refused by name where it would make or revoke a key", async () => {
    await create({});
    const refused = {
      code: "configuration_invalid",
      fix: expect.stringContaining("GHOULS_MIGRATION_DATABASE_URL"),
    };
    await expect(ledger.keys.create([newKey({ keyId: "k2" })])).rejects.toMatchObject(refused);
    await expect(ledger.keys.revoke("k1", { actor: null, reason: "x" })).rejects.toMatchObject(refused);
    expect(await ledger.keys.page({}, 10)).toMatchObject([{ keyId: "k1", revokedAt: null }]);
  });

  test("is told other failures as they are", async () => {
    const elsewhere = openLedger({ connectionString: db.migratorUrl, schema: "nowhere" });
    await expect(elsewhere.keys.create([newKey()])).rejects.toMatchObject({ code: "schema_outdated" });
    await elsewhere.close();
  });
});
