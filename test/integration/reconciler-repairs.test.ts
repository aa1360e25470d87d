import { beforeEach, describe, expect, test } from "vitest";
import { noFaults, type FaultInjector } from "@ghouls/core";
import { jobServicesAt } from "../support/crash-workflows.ts";
import { testCluster } from "../support/cluster.ts";
import { jobServer } from "../support/job-server.ts";
import { makeTrial, repairsOf, stateOf, trialWorkflows, type Trial } from "../support/reconciler-trial.ts";
import { testWorld, type World } from "../support/world.ts";

/** What the passes repair, each in a row of its commit, whatever comes between their look and their repair. */

const server = await jobServer();
let faults: FaultInjector = noFaults;
let decide = (): Promise<unknown> => Promise.resolve({ outcome: "grant", by: "TICKET-1" });
const services = jobServicesAt(server.origin);
const cluster = await testCluster();
const worldOf = (db?: World["db"]) =>
  testWorld({
    ...(db === undefined ? {} : { db }),
    workflows: trialWorkflows(services),
    services,
    origins: [server.origin],
    decisionSources: { tickets: { lookUp: () => decide() as never } },
    faults: (point, detail) => faults(point, detail),
    settings: { maxLosses: 3 },
  });
const [world, mortal] = await Promise.all([worldOf(), worldOf(cluster.db)]);

beforeEach(() => {
  faults = noFaults;
  decide = () => Promise.resolve({ outcome: "grant", by: "TICKET-1" });
});

async function afresh(where = world): Promise<Trial> {
  await where.reset();
  return makeTrial(where, server);
}

/** What is left once nothing is due, before any delivery's second publication is. */
async function settled(trial: Trial, where = world) {
  await where.reconcile();
  await where.advance(31);
  await where.reconcile();
  await where.reconcile();
  return { state: await stateOf(where, trial), ...(await repairsOf(where, trial)) };
}

/** A quiet reconciler's, after which each test is compared. */
const quiet = await settled(await afresh());

async function expectAsQuiet(trial: Trial, where = world): Promise<void> {
  const { state, repairs, publications } = await settled(trial, where);
  expect(state).toEqual(quiet.state);
  expect(repairs).toEqual(quiet.repairs);
  expect(publications).toEqual([...new Set(publications)]);
}

test("each repair has one row, with what was before and what is after", () => {
  expect(quiet.repairs).toEqual([
    "children parent QUEUED, delivery 2",
    "consents consents GRANTED, run QUEUED, delivery 2",
    "containment ended CANCELLED",
    "containment failing FAILED",
    "containment lost items acknowledged",
    "deadlines deadlines FAILED",
    "delegates delegates SUCCEEDED, run QUEUED, delivery 2",
    "endings deadlines written",
    "endings ended written",
    "endings failing written",
    "endings holds written",
    "holds holds FAILED",
    "reanimation failing FAILING",
    "reanimation lost QUEUED, delivery 2",
    "timers timers QUEUED, delivery 2",
  ]);
  expect(quiet.publications).toEqual(["relay delivery 1 PENDING published 1 times"]);
});

test("three reconcilers at once leave what one does", async () => {
  const trial = await afresh();
  await Promise.all([world.reconcile(), world.reconcile(), world.reconcile()]);
  await expectAsQuiet(trial);
});

test.each([
  "deliveries.settle-lost",
  "deliveries.expire-holds",
  "runs.fail-overdue",
  "runs.resume",
  "consents.decide",
  "attempts.change",
  "items.contain",
  "children.tell-parent",
])("where the answer to the COMMIT of %s is lost, its repair is not done again", async (what) => {
  const trial = await afresh();
  let lost = 0;
  faults = (point, detail) => {
    if (point !== "ledger.after-commit" || detail !== what) return;
    lost += 1;
    throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  };
  const report = await world.reconcile();
  faults = noFaults;
  expect(lost).toBeGreaterThan(0);
  expect(Object.values(report).some(({ failed }) => failed > 0)).toBe(true);
  await expectAsQuiet(trial);
  expect(await world.ledger.reconciler.degradedPages(1)).toEqual([]);
});

test("where the answer to the relay's mark is lost, it is counted once", async () => {
  const trial = await afresh();
  let lost = 0;
  faults = (point, detail) => {
    if (point !== "ledger.after-statement" || detail !== "deliveries.mark-relayed" || lost > 0) return;
    lost += 1;
    throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  };
  await world.reconcile();
  faults = noFaults;
  expect(lost).toBe(1);
  await expectAsQuiet(trial);
  const [row] = await world.db.admin("select publications from ghouls.deliveries where run_id = $1", [
    trial["relay"],
  ]);
  // Once at its admission.
  expect(row).toEqual({ publications: 2 });
});

describe("what changes between a look and its repair", () => {
  const key = (trial: Trial, name: string) => ({ tenantId: "acme", runId: trial[name] ?? "" });
  const cancels = (name: string) => (trial: Trial) =>
    world.ledger.runs.cancel(key(trial, name), { actor: "user:ada", reason: "x" }, 60);

  test.each<[string, string, (trial: Trial) => Promise<unknown>, string]>([
    [
      "a beat of the lost worker",
      "reanimation",
      (trial) =>
        world.db.admin(
          "update ghouls.deliveries set lease_until = ghouls.clock() + interval '1 hour' where run_id = $1 and status = 'CLAIMED'",
          [trial["lost"]],
        ),
      "lost",
    ],
    [
      "more time for the hold",
      "holds",
      (trial) =>
        world.db.admin(
          "update ghouls.deliveries set hold_expires_at = ghouls.clock() + interval '1 hour' where run_id = $1",
          [trial["holds"]],
        ),
      "holds",
    ],
    ["a cancel of the sleeping", "timers", cancels("timers"), "timers"],
    ["a cancel of the overdue", "deadlines", cancels("deadlines"), "deadlines"],
    ["a cancel of the one that asks", "consents", cancels("consents"), "consents"],
    [
      "the end of the job, by a callback",
      "delegates",
      (trial) =>
        world.db.admin("update ghouls.attempts set token = gen_random_uuid() where run_id = $1", [
          trial["delegates"],
        ]),
      "delegates",
    ],
    [
      "an ending by somebody else",
      "containment",
      (trial) => world.ledger.items.contain(key(trial, "ended"), 3),
      "ended",
    ],
    [
      "a word to the parent",
      "children",
      async (trial) => {
        const [end] = (await world.ledger.children.ends({ limit: 10 })).found.filter(
          ({ parentRunId }) => parentRunId === trial["parent"],
        );
        if (end !== undefined) await world.ledger.children.tellParent(end, 15);
      },
      "parent",
    ],
  ])("%s leaves the %s pass nothing to do, and no row", async (_what, pass, change, name) => {
    const trial = await afresh();
    let changed = 0;
    faults = async (point) => {
      if (point !== `${pass}.after-select` || changed > 0) return;
      changed += 1;
      await change(trial);
    };
    const report = await world.reconcile();
    faults = noFaults;
    expect(changed).toBe(1);
    expect(report[pass as "timers"]).toMatchObject({ failed: 0 });
    expect(report[pass as "timers"].left).toBeGreaterThan(0);
    const { repairs } = await repairsOf(world, trial);
    expect(repairs.filter((repair) => repair.startsWith(`${pass} ${name} `))).toEqual([]);
  });

  test("another relay's mark leaves one row", async () => {
    const trial = await afresh();
    let others = 0;
    faults = async (point) => {
      if (point !== "relay.after-publish" || others > 0) return;
      others += 1;
      await world.reconcile();
    };
    const report = await world.reconcile();
    expect(report.relay).toMatchObject({ repaired: 0 });
    expect(report.relay.left).toBeGreaterThan(0);
    await expectAsQuiet(trial);
  });
});

test("PostgreSQL that is restarted within the loop: those of that moment are tried again, and no other is given up", async () => {
  const trial = await afresh(mortal);
  let crashed = false;
  faults = async (point) => {
    if (point !== "timers.after-select" || crashed) return;
    crashed = true;
    await cluster.crash();
    await cluster.restart();
  };
  await mortal.reconcile();
  faults = noFaults;
  expect(crashed).toBe(true);
  await expectAsQuiet(trial, mortal);
}, 120_000);

test("a decision source that hangs holds no other consent up, and is asked again", async () => {
  const trial = await afresh();
  decide = () => Promise.reject(new Error("503"));
  const report = await world.reconcile();
  expect(report.consents).toMatchObject({ failed: 1, degraded: 1 });
  const { owners } = await world.ledger.reconciler.degradedOwners(10);
  expect(owners).toMatchObject([{ pass: "consents", runId: trial["consents"], reason: "Error" }]);
  decide = () => Promise.resolve({ outcome: "grant", by: "TICKET-1" });
  await expectAsQuiet(trial);
});
