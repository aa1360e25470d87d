import { describe, expect, test } from "vitest";
import {
  LEASE_SECONDS,
  MARGIN_SECONDS,
  OVER_SECONDS,
  addressOf,
  crashWorld,
} from "../support/crash-world.ts";
import type { Invocation, WorkerProcess } from "../support/fault-driver.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

const world = await crashWorld();
const { stub, db, ledger } = world;
const survivor = await world.start();

const OWN_FENCE = "its own lease could not be extended in time";
const evidenceOf = (runId: string) =>
  db.admin(
    "select class, seq, outcome, body_text from ghouls.evidence where run_id = $1 and class = 'rejected'",
    [runId],
  );
const rejected = (body: string) => [{ class: "rejected", seq: 1, outcome: "ok", body_text: `"${body}"` }];

/** Hands a run to a worker, which comes to this step of it and waits there for the service. */
async function standing(at: string, workflow: string, worker: WorkerProcess) {
  stub.hold(at);
  const { runId } = await world.submit(workflow);
  const messages = await world.receive();
  const working = worker.work(messages);
  await until(`a call of ${at}`, () => stub.calls(runId, at).length === 1);
  return { runId, working, key: stub.calls(runId, at)[0]?.key ?? "" };
}

/** Lets go what the worker waits for. By then its claim is gone, and its signal has fired. */
async function wakesUp(at: string, runId: string, worker: WorkerProcess, working: Promise<Invocation>) {
  await until("its abort signal", () =>
    stub.aborted(runId).some((one) => one.step === at && one.pid === worker.pid),
  );
  stub.release(at);
  return working;
}

/** All rows of a run, but for evidence and the worker's own word: what a zombie must not touch. */
async function rowsOf(runId: string) {
  const of = (table: string) =>
    db.admin(`select t.* from ghouls.${table} t where t.run_id = $1 order by t::text`, [runId]);
  return Promise.all(["runs", "journal", "deliveries", "intents", "checkpoints"].map(of));
}

/** A living worker beats; the run counts the open items of its zombie. */
function withoutLeases(rows: Record<string, unknown>[][]) {
  return rows.map((of) => of.map((row) => ({ ...row, lease_until: null, open_items: null })));
}

describe("SIGSTOP past the lease, while another worker carries the run on, then SIGCONT", () => {
  test("an effect that happens once: it happened once, and the late result is rejected evidence", async () => {
    const zombie = await world.start();
    const { runId, working, key } = await standing("pay", "three", zombie);
    zombie.signal("SIGSTOP");
    await zombie.untilStopped();
    // Its lease has lapsed, and it may still act: nobody asks about the effect before its time is over.
    await world.advance(LEASE_SECONDS);
    await world.reconcile();
    await world.step(survivor);
    expect([await world.statusOf(runId), stub.probes(key)]).toEqual(["QUEUED", 0]);
    await world.heal([runId], survivor);
    await world.audit({ [runId]: "DONE" });
    expect(stub.probes(key)).toBe(1);
    const before = await rowsOf(runId);

    zombie.signal("SIGCONT");
    expect(await wakesUp("pay", runId, zombie, working)).toEqual({
      kind: "answered",
      value: { batchItemFailures: [] },
    });
    expect(await rowsOf(runId)).toEqual(before);
    expect(await evidenceOf(runId)).toEqual(rejected("pay was done"));
    expect(stub.names(runId)).toEqual(["one", "pay", "three"]);
    await world.audit({ [runId]: "DONE" });
    expect(zombie.alive()).toBe(true);
  });

  test("a step that may be repeated: both calls had one key, and only the living worker's result counts", async () => {
    const zombie = await world.start();
    const { runId, working } = await standing("held", "held", zombie);
    zombie.signal("SIGSTOP");
    await zombie.untilStopped();
    await world.advance(LEASE_SECONDS);
    await world.reconcile();
    const living = world.step(survivor);
    await until("the second call", () => stub.calls(runId, "held").length === 2);
    zombie.signal("SIGCONT");
    expect(await wakesUp("held", runId, zombie, working)).toMatchObject({ kind: "answered" });
    await living;
    expect(await evidenceOf(runId)).toEqual(rejected("held was done"));
    // It has said itself that nothing of it acts any more: DONE waits for no time.
    expect(await ledger.items.ofRun({ tenantId: "acme", runId })).toMatchObject([
      { kind: "worker", acknowledgedBy: "worker" },
    ]);
    await world.audit({ [runId]: "DONE" });
    expect(stub.names(runId)).toEqual(["held", "held", "after"]);
  });

  test.each([
    { point: "worker.after-claim" },
    { point: "worker.after-step", detail: "one" },
    { point: "worker.before-intent" },
    { point: "worker.before-settle" },
  ] as const)("at $point, when the run has ended: nothing of it lands", async (place) => {
    const zombie = await world.start();
    await zombie.faults([{ ...place, action: "stop" }]);
    const { runId } = await world.submit("three");
    const working = zombie.work(await world.receive());
    await zombie.untilStopped();
    await world.heal([runId], survivor);
    const before = await rowsOf(runId);
    zombie.signal("SIGCONT");
    expect(await working).toMatchObject({ kind: "answered" });
    expect(await rowsOf(runId)).toEqual(before);
    await world.audit({ [runId]: "DONE" });
    expect(stub.calls(runId, "pay").length).toBe(1);
  });

  // The run is RUNNING, and what the zombie writes is not there yet: only the fence stands in its way.
  test.each([
    { point: "worker.after-step", detail: "one", evidence: rejected("one was done") },
    { point: "worker.before-intent", detail: "pay", evidence: [] },
    { point: "worker.before-settle", evidence: [] },
  ] as const)("at $point, while another is about to write the same: nothing of it lands", async (row) => {
    const { evidence, ...place } = row;
    const [zombie, living] = await Promise.all([world.start(), world.start()]);
    await zombie.faults([{ ...place, action: "stop" }]);
    await living.faults([{ ...place, action: "delay" }]);
    const { runId } = await world.submit("three");
    const working = zombie.work(await world.receive());
    await zombie.untilStopped();
    await world.advance(LEASE_SECONDS);
    await world.reconcile();
    const carrying = world.step(living);
    await until("the other at the same place", () => living.hits.length === 1);
    const before = await rowsOf(runId);
    zombie.signal("SIGCONT");
    expect(await working).toMatchObject({ kind: "answered" });
    expect(withoutLeases(await rowsOf(runId))).toEqual(withoutLeases(before));
    expect(await evidenceOf(runId)).toEqual(evidence);
    expect(await world.statusOf(runId)).toBe("RUNNING");
    living.go();
    await carrying;
    await world.heal([runId], survivor);
    await world.audit({ [runId]: "DONE" });
    expect(stub.calls(runId, "pay").length).toBe(1);
    expect(await world.journalOf(runId)).toEqual(["one", "pay", "three"]);
  });
});

describe("SIGSTOP, and a cancel", () => {
  async function frozen() {
    const zombie = await world.start();
    await zombie.faults([{ point: "worker.after-step", detail: "one", action: "stop" }]);
    const { runId } = await world.submit("three");
    const working = zombie.work(await world.receive());
    await zombie.untilStopped();
    expect(await world.control.cancel(SOMEBODY, runId, "no longer wanted")).toMatchObject({
      status: "CANCELLING",
    });
    // Long after its lease: it may go on at any moment.
    await world.advance(LEASE_SECONDS);
    for (let round = 0; round < 3; round += 1) await world.reconcile();
    expect(await world.statusOf(runId)).toBe("CANCELLING");
    return { zombie, runId, working };
  }

  test("is CANCELLING until its supervisor has seen the process end, and the margin has passed", async () => {
    const { zombie, runId, working } = await frozen();
    zombie.signal("SIGKILL");
    const how = await zombie.ended;
    await working;
    await ledger.deliveries.recordWorkerEnd({ worker: zombie.name, how, actsMarginSeconds: MARGIN_SECONDS });
    await world.reconcile();
    expect(await world.statusOf(runId)).toBe("CANCELLING");
    await world.advance(MARGIN_SECONDS + 0.1);
    await world.reconcile();
    await world.audit({ [runId]: "CANCELLED" });
  });

  test("is CANCELLING until nothing of it can act, where nobody sees it end", async () => {
    const { zombie, runId, working } = await frozen();
    await world.advance(OVER_SECONDS - LEASE_SECONDS - 5);
    await world.reconcile();
    expect(await world.statusOf(runId)).toBe("CANCELLING");
    await world.advance(10);
    await world.reconcile();
    await world.audit({ [runId]: "CANCELLED" });
    const before = await rowsOf(runId);
    zombie.signal("SIGCONT");
    await working;
    expect(await rowsOf(runId)).toEqual(before);
  });

  test("is CANCELLED by its own word, once it goes on and has ended its hop", async () => {
    const { zombie, runId, working } = await frozen();
    zombie.signal("SIGCONT");
    expect(await working).toMatchObject({ kind: "answered" });
    await world.audit({ [runId]: "CANCELLED" });
    expect(stub.names(runId)).toEqual(["one"]);
  });
});

test("beats that do not leave the process: it fences itself, and another carries on", async () => {
  const stuck = await world.start({ lease: "5s" });
  await stuck.faults([{ point: "worker.before-beat", action: "delay" }]);
  const { runId, working } = await standing("held", "held", stuck);
  await until("its own fence", () => stuck.log.some((line) => line.includes(OWN_FENCE)));
  await until("its abort signal", () => stub.aborted(runId).some((one) => one.pid === stuck.pid));
  // Its lease has not been judged by anybody: it knows by its own clocks.
  expect(await world.statusOf(runId)).toBe("RUNNING");
  await world.advance(LEASE_SECONDS);
  await world.reconcile();
  const living = world.step(survivor);
  await until("the second call", () => stub.calls(runId, "held").length === 2);
  stub.release("held");
  await living;
  stuck.go();
  expect(await working).toMatchObject({ kind: "answered" });
  await world.heal([runId], survivor);
  expect(await evidenceOf(runId)).toEqual(rejected("held was done"));
  await world.audit({ [runId]: "DONE" });
});

test("a ledger that is a black hole for longer than the lease: the worker fences itself, another carries on", async () => {
  const proxy = await tcpProxy(addressOf(db.applicationUrl));
  const cutOff = await world.start({ lease: "5s" }, proxy.through(db.applicationUrl));
  const { runId, working } = await standing("held", "held", cutOff);
  // What its open connections send next is swallowed, each of them once and for good; new ones are silent.
  for (let connection = 1; connection <= 2; connection += 1) void proxy.blackHoleOnce("");
  proxy.silence();
  await until("its own fence", () => cutOff.log.some((line) => line.includes(OWN_FENCE)));
  await until("its abort signal", () => stub.aborted(runId).some((one) => one.pid === cutOff.pid));
  await world.advance(LEASE_SECONDS);
  await world.reconcile();
  const living = world.step(survivor);
  await until("the second call", () => stub.calls(runId, "held").length === 2);
  stub.release("held");
  await living;
  const before = await rowsOf(runId);
  expect(stub.names(runId)).toEqual(["held", "held", "after"]);

  // The ledger answers again; what the worker then says is evidence and its own end, and nothing else.
  proxy.restore();
  void working;
  await world.advance(LEASE_SECONDS * 5);
  await world.reconcile();
  const after = await rowsOf(runId);
  expect(after.slice(1)).toEqual(before.slice(1));
  await world.audit({ [runId]: "DONE" });
});
