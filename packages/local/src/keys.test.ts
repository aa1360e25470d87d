import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseApiKey } from "@ghouls/core";
import { openLedger } from "@ghouls/ledger";
import { afterAll, beforeEach, expect, test } from "vitest";
import { testDatabase } from "../../../test/support/database.ts";
import { ensureKeys } from "./keys.ts";

const db = await testDatabase();
const migrator = openLedger({ connectionString: db.migratorUrl, maxConnections: 1 });
const folder = mkdtempSync(join(tmpdir(), "ghouls-keys-"));
const file = join(folder, "keys.json");
afterAll(async () => {
  await migrator.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  rmSync(file, { force: true });
  await db.admin("truncate ghouls.api_keys");
});

const idOf = (text: string) => parseApiKey(text)?.keyId ?? "";

test("three keys are made, each for its own role, and a restart makes no others", async () => {
  const tokens = await ensureKeys(folder, migrator);
  expect(await ensureKeys(folder, migrator)).toEqual(tokens);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const keys = await migrator.keys.page({ tenantId: "default" }, 10);
  expect(keys).toHaveLength(3);
  for (const [role, text] of Object.entries(tokens)) {
    expect(keys.find(({ keyId }) => keyId === idOf(text))).toMatchObject({
      subject: role,
      roles: [role],
      permissions:
        role === "operator" ? ["deployment:pause", "deployment:reconcile", "deployment:integrity"] : [],
      createdBy: "ghouls dev",
      expiresAt: null,
    });
  }
});

test("a database that was made anew gets the keys that the folder has", async () => {
  const tokens = await ensureKeys(folder, migrator);
  await db.admin("truncate ghouls.api_keys");
  expect(await ensureKeys(folder, migrator)).toEqual(tokens);
  expect(await migrator.keys.page({}, 10)).toHaveLength(3);
});

test("a key that was revoked stays so, and the next start makes another in its place", async () => {
  const tokens = await ensureKeys(folder, migrator);
  await migrator.keys.revoke(idOf(tokens.operator), { actor: null, reason: "it was in a screenshot" });
  const next = await ensureKeys(folder, migrator);
  expect(next).toEqual({ ...tokens, operator: expect.any(String) });
  expect(next.operator).not.toBe(tokens.operator);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(next);
  expect(await migrator.keys.byId(idOf(tokens.operator))).toMatchObject({ revokedAt: expect.any(Date) });
  expect(await migrator.keys.byId(idOf(next.operator))).toMatchObject({ revokedAt: null });
});

test.each(["", "{", "null", "[]", '{"operator":7,"submitter":"x"}'])(
  "a file that is damaged is made anew: %j",
  async (text) => {
    writeFileSync(file, text);
    const tokens = await ensureKeys(folder, migrator);
    expect(Object.values(tokens).map(idOf)).not.toContain("");
    expect(await ensureKeys(folder, migrator)).toEqual(tokens);
  },
);

test("a role that only reads keys is told which one makes them, and its folder has them ready", async () => {
  const application = db.ledger({ connectionString: db.applicationUrl });
  await expect(ensureKeys(folder, application)).rejects.toMatchObject({
    code: "configuration_invalid",
    fix: expect.stringContaining("GHOULS_MIGRATION_DATABASE_URL"),
  });
  const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
  expect(await ensureKeys(folder, migrator)).toEqual(kept);
});
