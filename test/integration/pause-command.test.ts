import { beforeEach, describe, expect, test } from "vitest";
import { command } from "../support/command.ts";
import { testDatabase } from "../support/database.ts";

/** `ghouls pause`, `unpause` and `pauses` straight in a database, where no API runs. */

const db = await testDatabase();
const ledger = db.ledger();
beforeEach(async () => {
  await db.admin("truncate ghouls.pauses");
});

const { ghouls } = command();
const AT_DATABASE = ["--database-url", db.applicationUrl];
const WHY = ["--reason", "restored"];

describe.each([
  ["everything", ["--all"], { scope: "all", tenantId: null, workflow: null }, "every run"],
  [
    "a tenant",
    ["--tenant", "acme"],
    { scope: "tenant", tenantId: "acme", workflow: null },
    "every run of tenant acme",
  ],
  [
    "a workflow in every tenant",
    ["--workflow", "bill"],
    { scope: "workflow", tenantId: null, workflow: "bill" },
    "workflow bill of every tenant",
  ],
  [
    "a workflow in one",
    ["--workflow", "bill", "--tenant", "acme"],
    { scope: "workflow", tenantId: "acme", workflow: "bill" },
    "workflow bill of tenant acme",
  ],
])("a pause of %s", (_what, argv, target, told) => {
  test("is set, listed and lifted without an API", async () => {
    const set = ["pause", ...argv, ...WHY, "--by", "ada", ...AT_DATABASE];
    expect(await ghouls(set)).toEqual({ code: 0, out: `paused: ${told}\n`, err: "" });
    expect(await ledger.pauses.all(10)).toMatchObject([{ ...target, by: "ada", reason: "restored" }]);
    expect(await ghouls(set)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^paused before, 20.* by ada: restored\n$/),
    });
    const listed = await ghouls(["pauses", "--json", ...AT_DATABASE]);
    expect(JSON.parse(listed.out)).toMatchObject({ pauses: [{ ...target, by: "ada" }] });
    const lift = ["unpause", ...argv, "--reason", "looked at", ...AT_DATABASE];
    expect(await ghouls(lift)).toEqual({
      code: 0,
      out: `unpaused: ${told}\n`,
      err: "The reconciler of a deployment that sleeps sees it within the hour; by the API it is told at once.\n",
    });
    expect(await ghouls(lift)).toMatchObject({ code: 1 });
    const [row] = await db.admin("select lifted_by, lift_reason from ghouls.pauses");
    expect(row).toEqual({
      lifted_by: expect.stringMatching(/^database role \w+$/),
      lift_reason: "looked at",
    });
  });
});

test("the environment may name the database, of either role", async () => {
  for (const env of [
    { DATABASE_URL: db.applicationUrl },
    { GHOULS_MIGRATION_DATABASE_URL: db.migratorUrl },
  ]) {
    expect((await ghouls(["pause", "--all", ...WHY, "--database-url"], env)).code).toBe(0);
    expect((await ghouls(["unpause", "--all", ...WHY, "--database-url"], env)).code).toBe(0);
  }
});

test("a schema that is older is told, and what to do", async () => {
  const outcome = await ghouls(["pause", "--all", ...WHY, "--schema", "elsewhere", ...AT_DATABASE]);
  expect(outcome).toMatchObject({ code: 1, out: "" });
  expect(outcome.err).toContain("ghouls migrate");
});
