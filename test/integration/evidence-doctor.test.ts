import { beforeEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import { sealsPass } from "@ghouls/engine";
import * as z from "zod";
import { command } from "../support/command.ts";
import { roundOf } from "../support/passes.ts";
import { testWorld } from "../support/world.ts";

/** `ghouls doctor --full` verifies all evidence with the application's connection. */

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.step("greet", () => "hello"),
});
const world = await testWorld({ workflows: [hello] });
const { db, ledger } = world;
const { ghouls } = command();
const doctor = (...argv: string[]) => ghouls(["doctor", ...argv, "--database-url", db.applicationUrl]);

beforeEach(() => world.reset());

const sealed = async () => {
  const runIds: string[] = [];
  for (let nth = 0; nth < 2; nth += 1) runIds.push((await world.submit("hello")).runId);
  await world.drain();
  await world.advance(61);
  await roundOf(sealsPass({ ledger, faults: () => undefined, log: world.deps.log }));
  await world.submit("hello");
  await world.drain();
  return runIds;
};

test("says what it has verified, and is 0 where all of it agrees", async () => {
  await sealed();
  const full = await doctor("--full");
  expect(full).toMatchObject({ code: 0, err: "" });
  expect(full.out).toContain("no run is quarantined");
  expect(full.out).toContain(
    "Evidence: 3 ended runs with 3 records, 1 of them not sealed yet, 1 seals: they agree\n",
  );
  const json = await doctor("--full", "--json");
  expect(JSON.parse(json.out)).toMatchObject({
    ok: true,
    evidence: { runs: 3, records: 3, seals: 1, pending: 1, faults: [] },
  });
  // Without the word nothing but the invariants is looked at.
  expect((await doctor()).out).not.toContain("Evidence");
});

test("names the run of what was altered, keeps the fault, and is 1", async () => {
  const [runId = ""] = await sealed();
  await db.admin("update ghouls.terminal_records set record_text = '{}' where run_id = $1", [runId]);
  const full = await doctor("--full");
  expect(full.code).toBe(1);
  expect(full.out).toContain("1 FAULT\n");
  expect(full.out).toContain("What to do about each: `ghouls doctor --strict` has its id.\n");
  expect(full.out).toContain(`acme, run ${runId}: its terminal record was altered`);
  expect(await db.admin("select run_id, found_by from ghouls.integrity_faults")).toEqual([
    { run_id: runId, found_by: "doctor" },
  ]);
  const json = await doctor("--full", "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.out)).toMatchObject({
    ok: false,
    evidence: { runs: 3, faults: [{ runId, tenantId: "acme" }] },
  });
});

test.each([
  ["output of a run", "update ghouls.runs set output_text = '\"forged\"' where run_id = $1", "stored output"],
  [
    "result of a step",
    "update ghouls.journal set result_text = '\"forged\"' where run_id = $1",
    "journal entry 1",
  ],
])("names the run of which a stored %s was forged, and sees when it is put back", async (_, forge, words) => {
  const [runId = ""] = await sealed();
  const admin = await db.client("admin");
  // As somebody who owns the tables: their triggers are no wall.
  await admin.query("set session_replication_role = replica");
  await admin.query(forge, [runId]);
  const full = await doctor("--full");
  expect(full.code).toBe(1);
  expect(full.out).toContain(`acme, run ${runId}: `);
  expect(full.out).toContain(words);
  expect((await world.view(runId)).quarantine?.reason).toContain("disagrees with its digest");
  await admin.query(forge.replace("forged", "hello"), [runId]);
  expect((await doctor("--full")).out).toContain("they agree");
  expect(await db.admin("select gone_at is not null as gone from ghouls.integrity_faults")).toEqual([
    { gone: true },
  ]);
});

test("whoever acknowledges its fault is told that the run is quarantined, and what ends that", async () => {
  const [runId = ""] = await sealed();
  await db.admin("update ghouls.terminal_records set record_text = '{}' where run_id = $1", [runId]);
  await doctor("--full");
  // A judgement of a start looks at the fault as well.
  await doctor("--strict");
  const [fault] = await db.admin<{ fault_id: string; quarantine: string }>(
    "select fault_id, quarantine from ghouls.integrity_faults",
  );
  expect(fault?.quarantine).toBe("made");
  const known = await doctor("--acknowledge", fault?.fault_id ?? "", "--reason", "known");
  expect(known.out).toContain(`its run is quarantined until: ghouls clear ${runId}`);
});

test("names a seal that was removed", async () => {
  await sealed();
  await db.admin("delete from ghouls.seals");
  const full = await doctor("--full");
  expect(full.code).toBe(1);
  expect(full.out).toContain("acme, all seals: 2 ended runs are sealed, and the seals that are there have 0");
});
