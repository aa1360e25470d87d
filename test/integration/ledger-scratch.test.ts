import { beforeEach, describe, expect, test } from "vitest";
import { createScratchLedger } from "@ghouls/ledger/scratch";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { APPLICATION } from "../support/template.ts";

const DAY_MS = 86_400_000;
const db = await testDatabase();
await db.admin(`grant create on database ${db.name} to test_migrator`);
/** Over the schema that the template has, so that rows can be put into any state. */
const scratch = await createScratchLedger({
  connectionString: db.migratorUrl,
  schema: "ghouls",
  applicationRole: APPLICATION.name,
});
const ledger = db.ledger();
beforeEach(() => scratch.empty());

describe("the clock of a scratch ledger", () => {
  test("moves when it is told to, forward only, and is the ledger's for every role", async () => {
    const before = await scratch.now();
    await scratch.advance(DAY_MS);
    const run = await makeRun(db, { status: "RUNNING" });
    const stored = await ledger.runs.get(run);
    expect((stored?.createdAt.getTime() ?? 0) - before).toBeGreaterThan(0.9 * DAY_MS);
    await scratch.advanceTo(before + 3 * DAY_MS);
    expect(await scratch.now()).toBeGreaterThanOrEqual(before + 3 * DAY_MS);
    await scratch.advanceTo(before);
    expect((await scratch.now()) - before).toBeLessThan(3.1 * DAY_MS);
    await scratch.empty();
    expect((await scratch.now()) - before).toBeLessThan(DAY_MS);
    expect(await ledger.runs.get(run)).toBeNull();
  });

  test("goes by itself, but hardly: moments keep their order, and a slow test is none for a lease", async () => {
    const [read, passed] = [await scratch.now(), performance.now()];
    let later = await scratch.now();
    while (later === read) later = await scratch.now();
    expect(later).toBeGreaterThan(read);
    // A hundredth, and what the machine took between the two looks at the time.
    expect(later - read).toBeLessThan((performance.now() - passed) / 10 + 1);
  });
});

describe("what is due next", () => {
  const inSeconds = async (runIds?: readonly string[]) => {
    const now = await scratch.now();
    const { definite, repeated } = await scratch.nextDue(runIds);
    const rounded = (moment: number | undefined) =>
      moment === undefined ? undefined : Math.round((moment - now) / 1_000);
    return { definite: rounded(definite), repeated: rounded(repeated) };
  };

  test("is nothing where nothing is open, or everything is due already", async () => {
    await makeRun(db, { status: "DONE" });
    await makeRun(db, { nextPublicationIn: -5 });
    expect(await inSeconds()).toEqual({ definite: undefined, repeated: undefined });
  });

  test("comes with how far the runs are, which another delivery is no part of", async () => {
    const [one, other] = [await makeRun(db, { status: "RUNNING" }), await makeRun(db, {})];
    const progress = async () => (await scratch.nextDue([one.runId])).progress;
    const before = await progress();
    expect(before).toContain("RUNNING");
    await db.admin("update ghouls.runs set status = 'RUNNING', started_at = created_at where run_id = $1", [
      other.runId,
    ]);
    await db.admin("update ghouls.deliveries set publications = 5");
    expect(await progress()).toBe(before);
    await db.admin("update ghouls.runs set journal_length = 1 where run_id = $1", [one.runId]);
    expect(await progress()).not.toBe(before);
    expect((await scratch.nextDue([])).progress).toBe("");
  });

  test("is the end of a lease and of a hold, and the next publication, which may say the same again", async () => {
    const claimed = await makeRun(db, { status: "RUNNING" });
    await db.admin("update ghouls.deliveries set lease_until = ghouls.clock() + interval '100 seconds'");
    expect(await inSeconds([claimed.runId])).toEqual({ definite: 100, repeated: undefined });
    const held = await makeRun(db, { deliveryStatus: "HELD" });
    expect(await inSeconds([held.runId])).toEqual({ definite: 3_600, repeated: undefined });
    const pending = await makeRun(db, { nextPublicationIn: 50 });
    expect(await inSeconds([pending.runId])).toEqual({ definite: undefined, repeated: 50 });
    expect(await inSeconds()).toEqual({ definite: 100, repeated: 50 });
    expect(await inSeconds([])).toEqual({ definite: undefined, repeated: undefined });
  });

  test("is a deadline, and a look at an item: for good where its time is known", async () => {
    const run = await makeRun(db, { status: "FAILING" });
    const item = (key: string, seconds: number, overAt: string) =>
      db.admin(
        `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at, over_at)
         values ($1, $2, 'worker', $3, 1, gen_random_uuid(), 'w', ghouls.clock(),
           ghouls.clock() + $4::integer * interval '1 second', ${overAt})`,
        [run.tenantId, run.runId, key, seconds],
      );
    await item("1", 10, "null");
    await item("2", 900, "ghouls.clock() + interval '900 seconds'");
    expect(await inSeconds()).toEqual({ definite: 900, repeated: 10 });
    const waiting = await makeRun(db, { nextPublicationIn: 500 });
    await db.admin(
      "update ghouls.runs set deadline_at = ghouls.clock() + interval '300 seconds' where run_id = $1",
      [waiting.runId],
    );
    expect(await inSeconds()).toEqual({ definite: 300, repeated: 10 });
  });
});

test("a schema that cannot be made as it should is not left", async () => {
  const options = { connectionString: db.migratorUrl, schema: "ghouls_half" };
  await expect(createScratchLedger({ ...options, applicationRole: "nobody_at_all" })).rejects.toMatchObject({
    code: "configuration_invalid",
  });
  await expect(createScratchLedger({ ...options, schema: "no schema" })).rejects.toThrow(/is not taken/);
  await expect(createScratchLedger({ ...options, connectionString: db.applicationUrl })).rejects.toThrow(
    /may not create a schema/,
  );
  expect(await db.admin("select from pg_namespace where nspname = 'ghouls_half'")).toEqual([]);
});

test("a schema that is dropped is gone, and a statement of its own is refused then", async () => {
  const other = await createScratchLedger({ connectionString: db.migratorUrl, schema: "ghouls_other" });
  await other.drop();
  expect(await db.admin("select from pg_namespace where nspname = 'ghouls_other'")).toEqual([]);
  await expect(other.now()).rejects.toThrow();
});
