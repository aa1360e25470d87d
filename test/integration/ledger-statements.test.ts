import { describe, expect, test } from "vitest";
import "@ghouls/ledger";
import { migrate } from "@ghouls/ledger";
import {
  STATEMENTS,
  bindSchema,
  readStatement,
  type Statement,
} from "../../packages/ledger/src/sql/statement.ts";
import { testDatabase } from "../support/database.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import type pg from "pg";

const db = await testDatabase();
const [application, migrator] = [await db.client("application"), await db.client("migrator")];
const statements = [...STATEMENTS.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Those that span tenants, because what they start from carries none: a message, a token, a worker, the relay, an operator. */
const SYSTEM = [
  "grants.by-id",
  "grants.page",
  "grants.revoke",
  "integrity.acknowledge",
  "integrity.acknowledged",
  "integrity.by-id",
  "integrity.page-open",
  "integrity.page-others",
  "integrity.quarantine",
  "integrity.refused",
  "integrity.states",
  "integrity.to-quarantine",
  "integrity.unacknowledged",
  "keys.by-id",
  "keys.page",
  "keys.revoke",
  "ledger.health",
  "ledger.next-look",
  "pauses.all",
  "pauses.by-id",
  "pauses.lift",
  "pauses.of-tenant",
  "passes.read",
  "passes.begin-round",
  "passes.advance",
  "passes.end-round",
  "passes.note",
  "passes.all",
  "degraded.add",
  "degraded.among",
  "degraded.take-turns",
  "degraded.clean",
  "degraded.note-reason",
  "degraded.make-due",
  "degraded.page",
  "degraded.pages",
  "repairs.page",
  "pauses.of-target",
  "deliveries.holders",
  "deliveries.mark-skipped-as-paused",
  "skips.note",
  "arms.due",
  "arms.due-named",
  "arms.run-of-arm",
  "consents.to-look-up",
  "consents.to-look-up-named",
  "attempts.due",
  "attempts.due-named",
  "attempts.read-for-callback",
  "attempts.submitter-ended",
  "children.due",
  "children.due-named",
  "evidence.due-acts",
  "evidence.due-acts-of",
  "evidence.bodies-gone",
  "evidence.now",
  "evidence.tenant-after",
  "evidence.verify-journal",
  "evidence.verify-runs",
  "retention.due",
  "retention.due-of",
  "seals.after",
  "seals.check-position",
  "seals.checked",
  "seals.due",
  "runs.overdue",
  "runs.overdue-named",
  "deliveries.expired-holds",
  "deliveries.expired-holds-named",
  "deliveries.lapsed",
  "deliveries.lapsed-named",
  "items.due",
  "items.due-named",
  "items.record-worker-end",
  "deliveries.claim",
  "deliveries.claimed-by-token",
  "deliveries.taken-by-token",
  "deliveries.due-publications",
  "deliveries.due-publications-named",
  "deliveries.beat-of-worker",
  "deliveries.record-worker-end",
  "deliveries.unclaimed",
  "deadletters.note",
  "deadletters.forget",
  "deadletters.lock",
];

/** Those of whoever owns the schema: the application's role may not carry them out. */
const MIGRATORS = ["grants.create", "grants.revoke", "keys.create", "keys.revoke", "runs.repin"];
const clientOf = ({ name }: Statement) => (MIGRATORS.includes(name) ? migrator : application);

interface Described {
  readonly parameters: readonly string[];
  readonly columns: readonly string[];
}

/**
 * Has the server parse a statement, and asks it for the types; the columns come from a call that finds nothing. All in
 * one transaction, because a pooler hands each to any of its connections.
 */
async function describeOn(client: pg.Client, text: string): Promise<Described> {
  await client.query("begin");
  try {
    await client.query(`prepare described as ${text}`);
    const { rows } = await client.query<{ parameters: string[] }>(
      "select parameter_types::text[] as parameters from pg_prepared_statements where name = 'described'",
    );
    await client.query("deallocate described");
    const { parameters } = rows[0] ?? { parameters: [] };
    const { fields } = await client.query(
      text,
      parameters.map(() => null),
    );
    const types = await client.query<{ type: string }>(
      "select format_type(type, null) as type from unnest($1::oid[]) with ordinality as t(type, nth) order by nth",
      [fields.map((field) => field.dataTypeID)],
    );
    return { parameters, columns: fields.map(({ name }, index) => `${name} ${types.rows[index]?.type}`) };
  } finally {
    await client.query("rollback");
  }
}

function shown(statement: Statement, { parameters, columns }: Described): string {
  return [
    `${statement.name} ${statement.writes ? "writes" : "reads"}`,
    `  takes ${parameters.map((type, index) => `$${index + 1} ${type}`).join(", ") || "nothing"}`,
    `  gives ${columns.join(", ") || "nothing"}`,
  ].join("\n");
}

test("the server, asked as the role that carries it out, knows every statement, its parameters and its columns", async () => {
  const described: string[] = [];
  for (const statement of statements) {
    described.push(shown(statement, await describeOn(clientOf(statement), statement.text)));
  }
  expect(described.length).toBeGreaterThan(25);
  await expect(`${described.join("\n\n")}\n`).toMatchFileSnapshot("./snapshots/ledger-statements.txt");
});

test.each(statements)("$name has its name as a tag in its first line", ({ name, text }) => {
  expect(name).toMatch(/^[a-z]+\.[a-z-]+$/);
  // Longer names of prepared statements are cut by the server, and then two are one; they end in ":" and a digest.
  expect(name.length).toBeLessThan(64 - 13);
  expect(text.split("\n")[0]).toBe(`/* ${name} */`);
});

test("a second statement of a name is refused: the two would share one prepared statement", () => {
  expect(() => readStatement("runs.get", "select 1")).toThrow("two statements are called runs.get");
});

describe("a schema of another name", async () => {
  const other = await testDatabase();
  await other.admin(`create schema tavern authorization ${MIGRATOR.name}`);
  await migrate({
    connectionString: other.migratorUrl,
    schema: "tavern",
    applicationRole: APPLICATION.name,
  });
  // Whatever still names `ghouls` would fail now.
  await other.admin("drop schema ghouls cascade");
  const [itsApplication, itsMigrator] = [await other.client("application"), await other.client("migrator")];

  test.each(statements)("$name binds to it everywhere, and takes and gives the same", async (statement) => {
    const bound = bindSchema(statement.text, "tavern");
    expect(bound).not.toMatch(/ghouls\./);
    const client = clientOf(statement) === migrator ? itsMigrator : itsApplication;
    expect(await describeOn(client, bound)).toEqual(await describeOn(clientOf(statement), statement.text));
  });
});

test.each(statements.filter((one) => /\bghouls\./.test(one.text) && !one.name.startsWith("doctor.")))(
  "$name begins with the caller's tenant and joins on it, unless it is a system statement",
  ({ name, text }) => {
    const takesTenant = /tenant_id = \$1\b|unnest\(\s*\$[12]::text\[\].*?as \w+\(tenant_id,/s.test(text);
    const tenantless = ["workflows.", "capacities.", "releases."].some((noun) => name.startsWith(noun));
    // A judgement is of the whole ledger.
    const judges = name.startsWith("integrity.judge-");
    expect(takesTenant).toBe(!SYSTEM.includes(name) && !tenantless && !judges);
    const joins = text.match(/\bjoin ghouls\.(?:runs|deliveries|journal) \w+ on [^\n]*/g) ?? [];
    for (const join of joins) {
      // A message carries a run id alone; it is globally unique, and the tenant comes from its row.
      if (SYSTEM.includes(name) && join.endsWith(" run on run.run_id = q.run_id")) continue;
      expect(join).toMatch(/tenant_id = \w+\.tenant_id/);
    }
  },
);

test.each(statements)("$name interpolates no value: only words and placeholders", ({ text }) => {
  const literals = [...text.matchAll(/'([^']*)'/g)].map((match) => match[1]);
  for (const literal of literals) expect(literal).toMatch(/^[A-Za-z_0-9 ]*$/);
  expect(text).not.toContain("undefined");
  expect(text).not.toContain(";");
});
