import { expect, test } from "vitest";
import { LEASE_SECONDS, OVER_SECONDS, addressOf, crashWorld } from "../support/crash-world.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { blocked, until } from "../support/wait.ts";

const world = await crashWorld();
const { db, stub } = world;
const proxy = await tcpProxy(addressOf(db.applicationUrl));
const [worker, survivor] = await Promise.all([
  world.start({}, proxy.through(db.applicationUrl)),
  world.start(),
]);

/** As it stands in a message: BEGIN speaks of "read committed". */
const COMMIT = "commit\0";

const backends = () =>
  db.admin<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and usename = 'test_app'",
  );

test("backends killed while idle: the process lives, and its next invocation succeeds", async () => {
  const first = await world.submit("three");
  await world.step(worker);
  for (const { pid } of await backends()) await db.admin("select pg_terminate_backend($1)", [pid]);
  await until("their end", async () => (await backends()).length === 0);
  const { runId } = await world.submit("three");
  expect(await world.step(worker)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  await world.audit({ [first.runId]: "DONE", [runId]: "DONE" });
  expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
});

test.each(["one", "pay", "three"])("a backend killed in the statement that journals %s", async (name) => {
  stub.hold(name);
  const { runId } = await world.submit("three");
  const working = world.step(worker);
  await until("the step", () => stub.calls(runId, name).length === 1);
  const holder = await db.client("admin");
  await holder.query("begin");
  await holder.query("select from ghouls.runs where run_id = $1 for update", [runId]);
  stub.release(name);
  for (const pid of await blocked(db)) await db.admin("select pg_terminate_backend($1)", [pid]);
  // Its second try waits for the same lock.
  await blocked(db);
  await holder.query("commit");
  expect(await working).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  await world.audit({ [runId]: "DONE" });
  expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
});

test.each([
  ["before", "deliveries.claim"],
  ["after", "deliveries.claim"],
  ["before", "journal.append"],
  ["after", "journal.append"],
  ["before", "intents.open"],
  ["after", "intents.open"],
  ["before", "deliveries.settle"],
  ["after", "deliveries.settle"],
] as const)("the connection is cut %s PostgreSQL carries out %s: done once", async (when, text) => {
  const cut = proxy.cutOnce(when, text);
  const { runId } = await world.submit("three");
  expect(await world.step(worker)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  await cut;
  await world.audit({ [runId]: "DONE" });
  expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
});

test.each(["before", "after"] as const)(
  "the COMMIT of a judgement, and of an ending, is cut %s it is carried out: judged and ended once",
  async (when) => {
    const victim = await world.start();
    await victim.faults([{ point: "worker.after-step", detail: "one", action: "kill" }]);
    const { runId } = await world.submit("three-or-fail");
    expect(await world.step(victim)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.advance(LEASE_SECONDS);
    const judging = proxy.cutOnce(when, COMMIT);
    await worker.reconcile();
    await judging;
    expect(await world.statusOf(runId)).toBe(when === "before" ? "RUNNING" : "FAILING");
    if (when === "before") {
      // It stands aside until its own turn.
      await world.advance(31);
      await worker.reconcile();
    }

    await world.advance(OVER_SECONDS);
    const ending = proxy.cutOnce(when, COMMIT);
    await worker.reconcile();
    await ending;
    expect(await world.statusOf(runId)).toBe(when === "before" ? "FAILING" : "FAILED");
    await world.advance(OVER_SECONDS);
    await worker.reconcile();
    await world.audit({ [runId]: "FAILED" });
    expect(stub.names(runId)).toEqual(["one"]);
    expect((await world.deliveriesOf(runId)).map((one) => one.outcome)).toEqual(["lost"]);
    expect(worker.alive()).toBe(true);
  },
);

test("answers that are lost or said to be rolled back, in the process itself: the statement is repeated, the work is not", async () => {
  for (const action of ["lose", "repeat"] as const) {
    for (const detail of ["deliveries.claim", "journal.append", "intents.open", "deliveries.settle"]) {
      await survivor.faults([{ point: "ledger.after-statement", detail, action }]);
      const { runId } = await world.submit("three");
      const answer = await world.step(survivor);
      expect(answer, `${action} ${detail}`).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
      await world.audit({ [runId]: "DONE" });
      expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
    }
  }
  await survivor.faults([]);
});
