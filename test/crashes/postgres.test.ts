import pg from "pg";
import { expect, test } from "vitest";
import { testCluster } from "../support/cluster.ts";
import { crashWorld, type CrashWorld } from "../support/crash-world.ts";
import type { WorkerProcess } from "../support/fault-driver.ts";
import { until } from "../support/wait.ts";

/** A PostgreSQL that may die, and that has few connections to give. */
const [cluster, small] = await Promise.all([testCluster(), testCluster(["max_connections=10"])]);
const world = await crashWorld({ db: cluster.db });
const tight = await crashWorld({ db: small.db, maxConnections: 1 });

const RUNS = 30;
const MANY = { steps: 5, delay: 50, timeout: "4s" };
const NAMES = ["s1", "s2", "s3", "s4", "s5"];

/** Admits runs, and again where the ledger did not answer: the same key is the same run. */
async function submitAll(where: CrashWorld, count: number, workflow: string, input: unknown) {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const key = `${workflow}-${index}-${performance.now()}`;
      return until("an admission", () =>
        where.submit(workflow, input, { key }).then(
          ({ runId }) => runId,
          () => undefined,
        ),
      );
    }),
  );
}

const doneAll = (runIds: readonly string[]) => Object.fromEntries(runIds.map((id) => [id, "DONE" as const]));

/** Every step was done, with one key, and none that stood in the journal before was done again. */
function expectSteps(where: CrashWorld, runId: string): void {
  const names = where.stub.names(runId);
  expect([...new Set(names)].toSorted()).toEqual(NAMES);
  for (const name of NAMES) expect(names.filter((one) => one === name).length).toBeLessThanOrEqual(3);
}

const startAll = (where: CrashWorld, count: number, settings = {}): Promise<WorkerProcess[]> =>
  Promise.all(Array.from({ length: count }, () => where.start(settings)));

test("an immediate stop and a restart under load: nothing is lost, nothing settled twice", async () => {
  const workers = await startAll(world, 3, { batchSize: 10 });
  const runIds = await submitAll(world, RUNS, "many", MANY);
  const feeding = world.feed(() => workers);
  const { stub } = world;
  await until("load", () => runIds.filter((id) => stub.names(id).length >= 2).length >= RUNS / 3);
  await cluster.crash();
  await cluster.restart();
  await world.finish(runIds, feeding);
  await feeding.stop();
  await world.audit(doneAll(runIds));
  for (const runId of runIds) expectSteps(world, runId);
  expect(workers.map((worker) => worker.alive())).toEqual([true, true, true]);
});

test("a ledger that is read-only for a while: no false success, and the runs go on", async () => {
  const operator = new pg.Client({ connectionString: world.db.adminUrl });
  await operator.connect();
  await operator.query("set default_transaction_read_only = off");
  const readOnly = async (value: "on" | "off") => {
    await operator.query(`alter system set default_transaction_read_only = ${value}`);
    await operator.query("select pg_reload_conf()");
  };
  const workers = await startAll(world, 2);
  const runIds = await submitAll(world, 10, "many", MANY);
  const feeding = world.feed(() => workers);
  await until("load", () => runIds.some((id) => world.stub.names(id).length >= 2));
  await readOnly("on");
  try {
    await until("an admission that is refused", () =>
      world.submit("three").then(
        () => false,
        (error: unknown) => (error as { code?: string }).code === "ledger_unavailable",
      ),
    );
    await until("a worker that could not write", () =>
      workers.some((worker) => worker.log.some((line) => line.includes("25006"))),
    );
  } finally {
    await readOnly("off");
  }
  await until("writes again", async () => {
    await operator.query("select pg_reload_conf()");
    return world.db.admin("update ghouls.test_clock set ahead = ahead").then(
      () => true,
      () => false,
    );
  });
  await operator.end();
  await world.finish(runIds, feeding);
  await feeding.stop();
  await world.audit(doneAll(runIds));
  for (const runId of runIds) expectSteps(world, runId);
  expect(workers.map((worker) => worker.alive())).toEqual([true, true]);
});

test("the connections of thirty workers on a server that gives ten: nothing is lost, and nobody ends", async () => {
  const workers = await startAll(tight, 3, { batchSize: 10, poolSize: 10 });
  const runIds = await submitAll(tight, RUNS, "many", { ...MANY, delay: 5 });
  const feeding = tight.feed(() => workers);
  // Ten, of which three are the superuser's.
  await until("a server without a connection to give", async () => {
    const rows = await tight.db.admin(
      "select pid from pg_stat_activity where backend_type = 'client backend'",
    );
    return rows.length >= 7;
  });
  await tight.finish(runIds, feeding);
  await feeding.stop();
  await tight.audit(doneAll(runIds));
  for (const runId of runIds) expectSteps(tight, runId);
  expect(workers.map((worker) => worker.alive())).toEqual([true, true, true]);
});
