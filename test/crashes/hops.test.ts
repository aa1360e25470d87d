import { expect, test } from "vitest";
import { addressOf, crashWorld } from "../support/crash-world.ts";
import { startWorker, type WorkerProcess } from "../support/fault-driver.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/wait.ts";

const world = await crashWorld();
const { stub, db } = world;
const survivor = await world.start();

const timersOf = async (worker: WorkerProcess) =>
  (await worker.inspect()).resources.filter((one) => /Timeout|Immediate/.test(one));

test("a step that does not hear its signal: no second call beside it, no write after the end, and a clean process", async () => {
  const worker = await world.start();
  // Warm: its connections stand, and its timers are those of an idle process.
  const warm = await world.submit("three");
  await world.step(worker);
  const idle = await timersOf(worker);

  stub.hold("deaf");
  const { runId } = await world.submit("deaf");
  const working = worker.work(await world.receive());
  await until("the failed sibling in the journal", async () =>
    (await world.journalOf(runId)).includes("fails"),
  );
  // Its own timeout has passed as well, and it has tries left: neither ends it, and nothing starts beside it.
  await until("its abort signal", () => stub.aborted(runId).length > 0);
  expect(await world.statusOf(runId)).toBe("RUNNING");
  stub.release("deaf");
  expect(await working).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  expect(stub.names(runId).toSorted()).toEqual(["deaf", "fails"]);
  const journal = await world.journalOf(runId);

  // The next invocation of the same warm process.
  const next = await world.submit("three");
  expect(await world.step(worker)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  expect(await timersOf(worker)).toEqual(idle);
  expect(idle).toEqual([]);
  expect(await world.journalOf(runId)).toEqual(journal);
  expect(stub.names(runId).toSorted()).toEqual(["deaf", "fails"]);
  await world.audit({ [runId]: "FAILED", [warm.runId]: "DONE", [next.runId]: "DONE" });
  const open = await db.admin(
    "select pid from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
  );
  expect(open).toEqual([]);
});

test("a first call to SQS that is not answered: the worker does not return before it is over", async () => {
  const proxy = await tcpProxy(addressOf(world.sqs.endpoint));
  proxy.silence();
  const sqs = { ...world.sqs, endpoint: proxy.through(world.sqs.endpoint) };
  const worker = await startWorker({ databaseUrl: db.applicationUrl, stubUrl: stub.url, sqs });
  const { runId } = await world.submit("three");
  expect(await world.step(worker)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  expect(proxy.accepted).toBeGreaterThan(0);
  expect(await timersOf(worker)).toEqual([]);
  await world.audit({ [runId]: "DONE" });
});

test("a run that is much longer than its function goes over several invocations, and repeats nothing", async () => {
  const worker = await world.start({ functionTimeout: "5s" });
  const { runId } = await world.submit("many", { steps: 30, delay: 150, timeout: "2s" });
  const feeding = world.feed(() => [worker]);
  await until("its end", async () => (await world.statusOf(runId)) === "DONE");
  await feeding.stop();
  await world.audit({ [runId]: "DONE" });
  const deliveries = await world.deliveriesOf(runId);
  expect(deliveries.length).toBeGreaterThan(2);
  expect(deliveries.map((one) => one.outcome)).toEqual([
    ...deliveries.slice(1).map(() => "continued"),
    "done",
  ]);
  expect(stub.names(runId)).toEqual(Array.from({ length: 30 }, (_, index) => `s${index + 1}`));
  expect(worker.alive()).toBe(true);
});

test("a step that cannot fit any invocation is refused, and one that never fits what is left makes no progress", async () => {
  const worker = await world.start({ functionTimeout: "5s" });
  const { runId } = await world.submit("many", { steps: 1, delay: 0, timeout: "4s" });
  await world.step(worker);
  expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "invalid_call" } });

  const stuck = await world.submit("many", { steps: 1, delay: 0, timeout: "2900ms" });
  // Each of its invocations has less than that left when the step would start.
  for (let hop = 1; hop <= 2; hop += 1) await world.step(worker, 4_000);
  expect(await world.view(stuck.runId)).toMatchObject({ status: "FAILED", error: { code: "no_progress" } });
  await world.audit({ [runId]: "FAILED", [stuck.runId]: "FAILED" });
  expect([...stub.names(runId), ...stub.names(stuck.runId)]).toEqual([]);
});

test("a step in flight when time ends: the process exits instead of returning, and the run is recovered", async () => {
  stub.hold("held");
  const worker = await world.start({ functionTimeout: "10s" });
  const { runId } = await world.submit("held", { timeout: "2s" });
  const other = await world.submit("three");
  expect(await world.step(worker)).toEqual({ kind: "ended", how: "exit 1" });
  // What shared the process has settled before it ended.
  expect(await world.statusOf(other.runId)).toBe("DONE");
  expect(await world.statusOf(runId)).toBe("RUNNING");
  stub.release("held");
  await world.heal([runId], survivor);
  await world.audit({ [runId]: "DONE", [other.runId]: "DONE" });
  expect(stub.names(runId)).toEqual(["held", "held", "after"]);
});

test("an effect whose call throws is not called again, though it has tries left: its probe tells", async () => {
  const { runId } = await world.submit("shaky");
  await world.step(survivor);
  const [call] = stub.calls(runId, "pay");
  expect([stub.calls(runId).length, stub.probes(call?.key ?? "")]).toEqual([1, 0]);
  await world.heal([runId], survivor);
  await world.audit({ [runId]: "DONE" });
  expect([stub.calls(runId).length, stub.probes(call?.key ?? "")]).toEqual([1, 1]);
});

test("five rolling restarts of a healthy run cost it nothing", async () => {
  const restarts = ["s3", "s6", "s9", "s12", "s15"];
  for (const name of restarts) stub.hold(name);
  let current = await world.start();
  const feeding = world.feed(() => [current]);
  const { runId } = await world.submit("many", { steps: 18, delay: 5, timeout: "5s" });
  for (const name of restarts) {
    const [old, next] = [current, await world.start()];
    await until(`a call of ${name}`, () => stub.calls(runId, name).length === 1);
    // As a deploy does: what comes from now on goes to the new process.
    current = next;
    old.signal("SIGTERM");
    stub.release(name);
    expect(await old.ended).toBe("exit 0");
  }
  await until("its end", async () => (await world.statusOf(runId)) === "DONE");
  await feeding.stop();
  await world.audit({ [runId]: "DONE" });
  expect(await db.admin("select losses from ghouls.runs where run_id = $1", [runId])).toEqual([
    { losses: 0 },
  ]);
  expect((await world.deliveriesOf(runId)).map((one) => one.outcome)).toEqual([
    ...restarts.map(() => "continued"),
    "done",
  ]);
  expect(stub.names(runId)).toEqual(Array.from({ length: 18 }, (_, index) => `s${index + 1}`));
});
