import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "ghouls/processes/alive";
import { describe, expect, test } from "vitest";
import { command } from "../support/command.ts";
import { LEASE_SECONDS, addressOf } from "../support/crash-world.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/wait.ts";
import type { WorkerCommand } from "../support/worker-command.ts";
import { workerWorld } from "../support/worker-world.ts";
import { SOMEBODY } from "../support/world.ts";

const world = await workerWorld();
const { stub } = world;
const { ghouls } = command();

const claimsOf = (worker: string) =>
  world.db.admin<{ run_id: string }>(
    "select run_id from ghouls.deliveries where claimed_by = $1 and status = 'CLAIMED'",
    [worker],
  );
const itemsOf = (runId: string) =>
  world.db.admin<{ kind: string; worker: string; acknowledged_by: string | null }>(
    "select kind, worker, acknowledged_by from ghouls.containment_items where run_id = $1",
    [runId],
  );
/** When the worker item of a process is over, by somebody's word. */
async function overAt(worker: string): Promise<Date | null> {
  const [item] = await world.db.admin<{ over_at: Date | null }>(
    "select over_at from ghouls.containment_items where worker = $1",
    [worker],
  );
  return item?.over_at ?? null;
}

/** Whoever has ended all that it carried ends with 0. */
async function endAll(...commands: readonly WorkerCommand[]): Promise<void> {
  for (const one of commands) one.signal("SIGTERM");
  for (const one of commands) expect(await one.ended).toEqual({ code: 0, signal: null });
}

test("SIGTERM under load: it ends with 0, nothing is lost, no loss is counted, and the next goes on", async () => {
  const runIds = await world.many("three", 150);
  const first = world.command();
  await first.untilServing();
  await until(
    "some have ended",
    async () => (await world.statusesOf(runIds)).filter((one) => one === "DONE").length > 20,
  );
  first.signal("SIGTERM");
  first.signal("SIGTERM");
  expect(await first.ended).toEqual({ code: 0, signal: null });
  const left = (await world.statusesOf(runIds)).filter((one) => one !== "DONE");
  expect(left.length).toBeGreaterThan(0);
  expect(new Set(left)).toEqual(new Set(["QUEUED"]));
  expect(await world.lossesOf(runIds)).toBe(0);

  const second = world.command();
  await world.end(runIds);
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(await world.lossesOf(runIds)).toBe(0);
  await world.audit(Object.fromEntries(runIds.map((runId) => [runId, "DONE"])));
  for (const runId of runIds) expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
});

test("kill -9 of worker processes under load: their ends are recorded, others go on, and nothing is lost", async () => {
  const runIds = await world.many("three", 150);
  const one = world.command();
  for (let killed = 0; killed < 2; killed += 1) {
    const { worker, pid } = await one.untilServing(killed + 1);
    await until("it carries some", async () => (await claimsOf(worker)).length > 0);
    process.kill(pid, "SIGKILL");
    await one.untilSaid(`${worker} (process ${pid}) ended: SIGKILL`);
  }
  await world.end(runIds);
  expect(await world.lossesOf(runIds)).toBeGreaterThan(0);
  await world.audit(Object.fromEntries(runIds.map((runId) => [runId, "DONE"])));
  one.signal("SIGTERM");
  expect(await one.ended).toEqual({ code: 0, signal: null });
});

test("kill -9 of the supervisor under load: its process drains and ends, and the next says so of it", async () => {
  const args = ["--state-dir", world.stateDir, "--name", "one"];
  stub.hold("held");
  const held = (await world.submit("held", { timeout: "10m" })).runId;
  const one = world.command({ args });
  const { worker, pid } = await one.untilServing();
  await until("the step", () => stub.names(held).length === 1);
  const runIds = await world.many("three", 100);
  await until("some have ended", async () => (await world.statusesOf(runIds)).includes("DONE"));
  one.signal("SIGKILL");
  await one.ended;
  const drained = async () => (await claimsOf(worker)).length === 1;
  await until("all but the step in flight is handed over", drained);
  // Who tells it to end once more, as a whole group of processes is told, changes nothing.
  process.kill(pid, "SIGTERM");
  process.kill(pid, "SIGINT");

  // The next one carries on beside it, and takes what it left for alive as long as it is.
  const two = world.command({ args });
  await two.untilServing();
  await world.end(runIds);
  expect((await claimsOf(worker)).length).toBe(1);
  expect(isAlive(pid)).toBe(true);
  stub.release("held");
  await until("the process has ended", () => !isAlive(pid));
  await world.end([held]);
  expect(await world.lossesOf([held, ...runIds])).toBe(0);
  await world.audit(Object.fromEntries([held, ...runIds].map((runId) => [runId, "DONE"])));
  two.signal("SIGTERM");
  expect(await two.ended).toEqual({ code: 0, signal: null });
  expect(readdirSync(world.stateDir)).toEqual([]);
});

test("what a killed supervisor and its killed process have left is recorded by the next start, of this machine only", async () => {
  const args = ["--state-dir", world.stateDir];
  stub.hold("held");
  const { runId } = await world.submit("held", { timeout: "10m" });
  const one = world.command({ args });
  const { worker, pid } = await one.untilServing();
  await until("the step", () => stub.names(runId).length === 1);
  one.signal("SIGKILL");
  await one.ended;
  process.kill(pid, "SIGKILL");
  await until("the process has ended", () => !isAlive(pid));
  expect(await world.control.cancel(SOMEBODY, runId, "no longer wanted")).toMatchObject({
    status: "CANCELLING",
  });
  const foreign = join(world.stateDir, "workers-0.json");
  const [mine = ""] = readdirSync(world.stateDir);
  const kept = JSON.parse(readFileSync(join(world.stateDir, mine), "utf8")) as { machine: object };
  writeFileSync(foreign, JSON.stringify({ ...kept, machine: { boot: "another", namespace: "pid:[1]" } }));
  // No time ever says that it is over.
  await world.advance(30 * 86_400);
  await world.reconcile();
  expect(await world.statusOf(runId)).toBe("CANCELLING");

  const two = world.command({ args });
  await two.untilSaid("is of another machine, container or boot");
  await until("its end is recorded", async () => (await overAt(worker)) !== null);
  await world.end([runId]);
  expect(await world.statusOf(runId)).toBe("CANCELLED");
  stub.release("held");
  two.signal("SIGTERM");
  expect(await two.ended).toEqual({ code: 0, signal: null });
  expect(readdirSync(world.stateDir)).toEqual(["workers-0.json"]);
  rmSync(foreign);
});

test("a frozen process that wakes up past its lease writes nothing, and acknowledges its own end", async () => {
  stub.hold("held");
  const { runId } = await world.submit("held", { timeout: "10m" });
  // It has no room for another: what it had asked for before it froze would be hidden for a while.
  const one = world.command({ args: ["--concurrency", "1"] });
  const frozen = await one.untilServing();
  await until("the step", () => stub.names(runId).length === 1);
  process.kill(frozen.pid, "SIGSTOP");
  await world.advance(LEASE_SECONDS);
  await world.reconcile();
  expect(await world.deliveriesOf(runId)).toMatchObject([{ outcome: "lost" }, { status: "PENDING" }]);
  const other = world.command();
  await other.untilServing();
  await until("the step again", () => stub.names(runId).length === 2);
  process.kill(frozen.pid, "SIGCONT");
  await until("it is told that it lost it", () => stub.aborted(runId).some(({ pid }) => pid === frozen.pid));
  stub.release("held");
  // The other one cannot end the run before the frozen one's word.
  await world.end([runId]);
  expect(await world.statusOf(runId)).toBe("DONE");
  expect(await itemsOf(runId)).toMatchObject([
    { kind: "worker", acknowledged_by: "worker", worker: frozen.worker },
  ]);
  await endAll(one, other);
});

test("a process that is cut off from the ledger takes nothing, keeps its steps, and goes on when it is back", async () => {
  const proxy = await tcpProxy(addressOf(world.db.applicationUrl));
  stub.hold("s2");
  const waiting = (await world.submit("many", { steps: 3, delay: 0, timeout: "10m" })).runId;
  const one = world.command({ databaseUrl: proxy.through(world.db.applicationUrl) });
  const { worker } = await one.untilServing();
  await until("the step", () => stub.names(waiting).length === 2);
  proxy.refuse();
  const runIds = await world.many("three", 100);
  await one.untilSaid("the ledger is away: this worker takes nothing");
  const cancelled = (await world.submit("three")).runId;
  stub.release("s2");
  proxy.restore();
  await one.untilSaid("the ledger answers again");
  await world.end([waiting, cancelled, ...runIds]);
  expect(await world.lossesOf(runIds)).toBe(0);
  await world.audit(Object.fromEntries([waiting, cancelled, ...runIds].map((runId) => [runId, "DONE"])));
  expect(await claimsOf(worker)).toEqual([]);
  await endAll(one);
});

test("a process that was cut off for longer than its lease says of its old claims that they have ended", async () => {
  const proxy = await tcpProxy(addressOf(world.db.applicationUrl));
  stub.hold("held");
  const { runId } = await world.submit("held", { timeout: "10m" });
  const one = world.command({ databaseUrl: proxy.through(world.db.applicationUrl) });
  await one.untilServing();
  await until("the step", () => stub.names(runId).length === 1);
  proxy.refuse();
  await until("it fences itself", () => stub.aborted(runId).length === 1);
  stub.release("held");
  await one.untilSaid("a worker's word about its end waits");
  await world.advance(LEASE_SECONDS);
  await world.reconcile();
  expect(await world.deliveriesOf(runId)).toMatchObject([{ outcome: "lost" }, { status: "PENDING" }]);
  proxy.restore();
  await world.end([runId]);
  expect(await world.statusOf(runId)).toBe("DONE");
  expect(await itemsOf(runId)).toMatchObject([{ kind: "worker", acknowledged_by: "worker" }]);
  await endAll(one);
});

describe("a cancelled run whose step is in flight stays CANCELLING", () => {
  const cancelled = async (one: WorkerCommand) => {
    stub.hold("held");
    const { runId } = await world.submit("held", { timeout: "10m" });
    await one.untilServing();
    await until("the step", () => stub.names(runId).length === 1);
    expect(await world.control.cancel(SOMEBODY, runId, "no longer wanted")).toMatchObject({
      status: "CANCELLING",
    });
    return runId;
  };
  const staysForEver = async (runId: string) => {
    await world.advance(30 * 86_400);
    for (let looks = 0; looks < 4; looks += 1) {
      await world.reconcile();
      await world.advance(600);
    }
    expect(await world.statusOf(runId)).toBe("CANCELLING");
    expect((await world.view(runId)).attention?.reason).toMatch(/^containment: /);
  };

  test("while its process lives, and ends by that one's own word", async () => {
    const one = world.command();
    const runId = await cancelled(one);
    await until("it is told", () => stub.aborted(runId).length === 1);
    await staysForEver(runId);
    stub.release("held");
    await until("its word", async () => (await world.statusOf(runId)) === "CANCELLED");
    expect(await itemsOf(runId)).toMatchObject([{ acknowledged_by: "worker" }]);
    await endAll(one);
  });

  test("while its process is cut off, and ends by its supervisor's word, who was cut off as well", async () => {
    const proxy = await tcpProxy(addressOf(world.db.applicationUrl));
    const one = world.command({ databaseUrl: proxy.through(world.db.applicationUrl) });
    const runId = await cancelled(one);
    proxy.refuse();
    await staysForEver(runId);
    const [{ worker, pid } = { worker: "", pid: 0 }] = one.workers;
    process.kill(pid, "SIGKILL");
    await one.untilSaid(`the end of ${worker} was not recorded`);
    await world.reconcile();
    expect(await world.statusOf(runId)).toBe("CANCELLING");
    proxy.restore();
    await until("it is recorded", async () => (await overAt(worker)) !== null);
    await world.end([runId]);
    expect(await itemsOf(runId)).toMatchObject([{ acknowledged_by: "time" }]);
    stub.release("held");
    await endAll(one);
  });

  test("after both are gone, and ends by the word of whoever has seen it", async () => {
    const one = world.command({ args: ["--name", "container-7"] });
    const runId = await cancelled(one);
    const [{ worker, pid } = { worker: "", pid: 0 }] = one.workers;
    one.signal("SIGKILL");
    process.kill(pid, "SIGKILL");
    await one.ended;
    await staysForEver(runId);
    const said = await ghouls(
      ["worker", "ended", "container-7", "--reason", "the task has stopped", "--actor", "ecs"],
      {
        DATABASE_URL: world.db.applicationUrl,
      },
    );
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toContain(`ended: ${worker}; 1 run(s)`);
    await world.end([runId]);
    expect(await world.statusOf(runId)).toBe("CANCELLED");
    stub.release("held");
  });
});

test("a grace ends the process by force, and its end is recorded before the command ends", async () => {
  stub.hold("held");
  const { runId } = await world.submit("held", { timeout: "10m" });
  const one = world.command({ args: ["--grace", "1s"] });
  const { worker } = await one.untilServing();
  await until("the step", () => stub.names(runId).length === 1);
  one.signal("SIGINT");
  expect(await one.ended).toEqual({ code: 0, signal: null });
  const [delivery] = await world.db.admin<{ worker_end: string }>(
    "select worker_end from ghouls.deliveries where claimed_by = $1",
    [worker],
  );
  expect(delivery?.worker_end).toBe("SIGKILL (by force, after a grace of 1000 ms)");
  stub.release("held");
  const two = world.command();
  await world.end([runId]);
  await world.audit({ [runId]: "DONE" });
  await endAll(two);
});

test("messages that come twice, or never, change nothing", async () => {
  const runIds = await world.many("three", 60);
  const messages = await world.receive();
  for (const { receiptHandle } of messages) await world.queue.delete("runs", receiptHandle);
  const rows = await world.db.admin<{ run_id: string }>(
    "select run_id from ghouls.runs where run_id = any($1::uuid[]) order by run_id limit 40",
    [runIds],
  );
  await world.queue.publish(
    rows.map(({ run_id: runId }) => ({ tenantId: "acme", runId, enqueueSeq: 1, queue: "runs" })),
  );
  const one = world.command({ args: ["--concurrency", "7"] });
  await one.untilServing();
  let most = 0;
  const counting = setInterval(() => {
    void claimsOf(one.workers[0]?.worker ?? "").then((claims) => (most = Math.max(most, claims.length)));
  }, 20);
  // Nor does it matter that nobody reads what it says.
  one.deafen();
  await world.end(runIds);
  clearInterval(counting);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(7);
  await world.audit(Object.fromEntries(runIds.map((runId) => [runId, "DONE"])));
  for (const runId of runIds) expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
  await endAll(one);
});
