import { randomUUID } from "node:crypto";
import { createEndRecorder } from "ghouls/processes/worker-ends";
import { beforeEach, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { blocked } from "../support/wait.ts";

const db = await testDatabase();
const ledger = db.ledger();

beforeEach(async () => {
  await db.admin("truncate ghouls.runs cascade");
});

/** A run that a process carries. */
async function carried(worker: string, tenantId = "acme") {
  const run = await makeRun(db, { status: "RUNNING", tenantId });
  await db.admin("update ghouls.deliveries set claimed_by = $2 where run_id = $1", [run.runId, worker]);
  return run;
}
const word = { actor: "ecs", reason: "the task has stopped", actsMarginSeconds: 60 };
const endOf = async (runId: string) =>
  (
    await db.admin<{ worker_end: string | null }>(
      "select worker_end from ghouls.deliveries where run_id = $1",
      [runId],
    )
  )[0]?.worker_end;

test("the word about a supervisor's name is about all of its processes, of any tenant, and about nobody else's", async () => {
  const mine = [await carried("task-7/a"), await carried("task-7/b", "umbrella"), await carried("task-7")];
  const others = [await carried("task-70/a"), await carried("task-/7/a"), await carried("task_7/a")];
  expect(await ledger.deliveries.sayWorkerEnded({ ...word, worker: "task-7" })).toEqual({
    workers: ["task-7", "task-7/a", "task-7/b"],
    runs: 3,
  });
  for (const { runId } of mine) expect(await endOf(runId)).toBe("ecs: the task has stopped");
  for (const { runId } of others) expect(await endOf(runId)).toBeNull();
  const audit = await db.admin(
    "select tenant_id, actor, act, subject, reason from ghouls.audit order by subject",
  );
  expect(audit).toEqual(
    ["task-7", "task-7/a", "task-7/b"].map((subject) => ({
      tenant_id: subject === "task-7/b" ? "umbrella" : "acme",
      actor: "ecs",
      act: "worker_ended",
      subject,
      reason: "the task has stopped",
    })),
  );
  // A second word finds nothing, and takes nothing back.
  expect(await ledger.deliveries.sayWorkerEnded({ ...word, reason: "again", worker: "task-7" })).toEqual({
    workers: [],
    runs: 0,
  });
  expect(await db.admin("select from ghouls.audit")).toHaveLength(3);
});

test("what a worker that is gone had been fenced of is over after the margin, however long it could have acted", async () => {
  const { tenantId, runId } = await makeRun(db, { status: "CANCELLING" });
  await db.admin(
    `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
     values ($1, $2, 'worker', '1', 1, gen_random_uuid(), 'task-7/a', ghouls.clock(), ghouls.clock() + interval '1 day')`,
    [tenantId, runId],
  );
  expect(await ledger.deliveries.sayWorkerEnded({ ...word, worker: "task-7/a" })).toMatchObject({ runs: 1 });
  const [item] = await db.admin<{ seconds: number; look: number }>(
    `select extract(epoch from over_at - ghouls.clock())::double precision as seconds,
       extract(epoch from next_look_at - ghouls.clock())::double precision as look from ghouls.containment_items`,
  );
  expect(item?.seconds).toBeGreaterThan(30);
  expect(item?.seconds).toBeLessThanOrEqual(60);
  expect(item?.look).toBeLessThanOrEqual(60);
});

test("it locks the runs before it marks a delivery, so that it stands in nobody's way", async () => {
  const { runId } = await carried("task-7/a");
  const holder = await db.client("admin");
  await holder.query("begin");
  await holder.query("select from ghouls.runs where run_id = $1 for update", [runId]);
  const said = ledger.deliveries.sayWorkerEnded({ ...word, worker: "task-7" });
  await blocked(db);
  // It holds no delivery while it waits.
  await holder.query("update ghouls.deliveries set lease_until = ghouls.clock() where run_id = $1", [runId]);
  await holder.query("commit");
  expect(await said).toMatchObject({ workers: ["task-7/a"], runs: 1 });
});

test("a claim that the server carries out after its process has ended is found by the second record", async () => {
  const { runId } = await makeRun(db, { status: "QUEUED" });
  const holder = await db.client("admin");
  await holder.query("begin");
  await holder.query("select from ghouls.runs where run_id = $1 for update", [runId]);
  const claiming = ledger.deliveries.claimIfDue([{ runId, enqueueSeq: 1, token: randomUUID() }], {
    worker: "task-7/a",
    leaseSeconds: 120,
    actsForSeconds: null,
  });
  await blocked(db);
  const marked: number[] = [];
  const ends = createEndRecorder({
    ledger: {
      deliveries: {
        recordWorkerEnd: async (end) => {
          if (marked.length > 0) expect(await claiming).toHaveLength(1);
          marked.push(await db.ledger().deliveries.recordWorkerEnd(end));
          // Its process is gone; what it had sent waited for the lock.
          if (marked.length === 1) await holder.query("commit");
          return marked.at(-1) ?? 0;
        },
      },
      close: () => Promise.resolve(),
    },
    log: () => undefined,
    actsMarginSeconds: 60,
    againMs: 1,
  });
  expect(await ends.record("task-7/a", "SIGKILL")).toBe(true);
  expect(marked).toEqual([0, 1]);
  expect(await endOf(runId)).toBe("SIGKILL");
  expect(await ends.close(10)).toEqual([]);
});
