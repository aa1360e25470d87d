import { expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";

const db = await testDatabase();
const ledger = db.ledger();

const leases = async (): Promise<Record<string, number>> => {
  const rows = await db.admin<{ run_id: string; seconds: number }>(
    "select run_id, extract(epoch from lease_until - ghouls.clock())::double precision as seconds from ghouls.deliveries",
  );
  return Object.fromEntries(rows.map((row) => [row.run_id, row.seconds]));
};

test("a supervisor's beat extends all that this worker holds, shortens nothing, and stops at its recorded end", async () => {
  const [one, other, elsewhere, settled] = [
    await makeRun(db, { status: "RUNNING" }),
    await makeRun(db, { status: "RUNNING" }),
    await makeRun(db, { status: "RUNNING" }),
    await makeRun(db, { status: "RUNNING" }),
  ];
  await db.admin("update ghouls.deliveries set claimed_by = 'inspected-1', lease_until = ghouls.clock()");
  await db.admin("update ghouls.deliveries set claimed_by = 'runs-1' where run_id = $1", [elsewhere.runId]);
  await db.admin(
    "update ghouls.deliveries set lease_until = ghouls.clock() + interval '1 hour' where run_id = $1",
    [other.runId],
  );
  await db.admin(
    "update ghouls.deliveries set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock() where run_id = $1",
    [settled.runId],
  );
  expect(await ledger.deliveries.beatOfWorker("inspected-1", 120)).toBe(2);
  const held = await leases();
  expect(held[one.runId]).toBeGreaterThan(110);
  expect(held[other.runId]).toBeGreaterThan(3_500);
  expect(held[elsewhere.runId]).toBeLessThanOrEqual(0);
  expect(held[settled.runId]).toBeLessThanOrEqual(0);
  await ledger.deliveries.recordWorkerEnd({ worker: "inspected-1", how: "SIGKILL" });
  // A beat that was on its way while the process died.
  expect(await ledger.deliveries.beatOfWorker("inspected-1", 120)).toBe(0);
  expect((await leases())[one.runId]).toBeLessThanOrEqual(0);
  expect(await ledger.deliveries.beatOfWorker("nobody", 120)).toBe(0);
});
