import { beforeAll, describe, expect, test } from "vitest";
import { crashWorld } from "../support/crash-world.ts";
import type { Passing } from "../support/fault-plan.ts";
import { jobServer } from "../support/job-server.ts";
import { jobServicesAt } from "../support/crash-workflows.ts";
import { makeTrial, repairsOf, stateOf, trialWorkflows, type Trial } from "../support/reconciler-trial.ts";
import { until } from "../support/wait.ts";
import { killsOn, victims } from "../support/victims.ts";

/** F71 and F72: reconcilers that are killed, and several at once, leave what one quiet reconciler does. */

const server = await jobServer();
const services = jobServicesAt(server.origin);
const world = await crashWorld({
  services,
  origins: [server.origin],
  decisionSources: { tickets: { lookUp: () => Promise.resolve({ outcome: "grant", by: "TICKET-1" }) } },
  workflows: trialWorkflows(services),
});
const victim = victims(() => world.start({ jobsOrigin: server.origin }));

/** A reconciler that nobody disturbs comes by until nothing is due, and no delivery's second publication is. */
async function settled(trial: Trial) {
  await world.reconcile();
  await world.advance(31);
  await world.reconcile();
  await world.reconcile();
  return { state: await stateOf(world, trial), ...(await repairsOf(world, trial)) };
}

/** What stays of a trial would be due in the next one. */
async function afresh(): Promise<Trial> {
  await world.reset();
  return makeTrial(world, server);
}

async function wayOf(): Promise<readonly Passing[]> {
  await afresh();
  const tracer = await victim();
  await tracer.reconcile();
  const { passings } = await tracer.inspect();
  tracer.signal("SIGKILL");
  return passings;
}

const way = await wayOf();
/** Statements have a point before and one after: killed after one is killed before the next. */
const cases = killsOn(way).filter(([, { point, nth }]) => nth === 1 && point !== "ledger.before-statement");

let quiet: Awaited<ReturnType<typeof settled>>;
beforeAll(async () => {
  const trial = await afresh();
  await world.reconcile();
  quiet = await settled(trial);
});

test("a quiet reconciler repairs all of it, and passes the points of every pass", () => {
  const states = quiet.state as Record<string, { status: string }>;
  expect(Object.fromEntries(Object.entries(states).map(([name, { status }]) => [name, status]))).toEqual({
    timers: "QUEUED",
    consents: "QUEUED",
    delegates: "QUEUED",
    parent: "QUEUED",
    lost: "QUEUED",
    failing: "FAILED",
    deadlines: "FAILED",
    holds: "FAILED",
    relay: "QUEUED",
    ended: "CANCELLED",
  });
  const passes = quiet.repairs.map((repair) => repair.slice(0, repair.indexOf(" ")));
  expect(new Set(passes)).toEqual(
    new Set([
      "reanimation",
      "holds",
      "deadlines",
      "timers",
      "consents",
      "delegates",
      "containment",
      "children",
      "endings",
    ]),
  );
  expect(quiet.publications.length).toBeGreaterThan(0);
  const points = new Set(way.map(({ point }) => point));
  for (const point of [
    "reanimation.after-select",
    "reanimation.after-judgement",
    "holds.after-select",
    "holds.after-expiry",
    "deadlines.after-select",
    "deadlines.after-failure",
    "timers.after-select",
    "timers.after-resume",
    "consents.after-select",
    "consents.after-look",
    "delegates.after-select",
    "delegates.after-look",
    "containment.after-select",
    "containment.after-look",
    "children.after-select",
    "children.after-tell",
    "endings.after-select",
    "seals.after-select",
    "seals.after-seal",
    "relay.after-select",
    "relay.after-publish",
    "ledger.before-commit",
    "ledger.after-commit",
  ] as const)
    expect([...points], point).toContain(point);
  expect(cases.length).toBeGreaterThan(50);
});

async function expectAsQuiet(trial: Trial): Promise<void> {
  const { state, repairs, publications } = await settled(trial);
  expect(state).toEqual(quiet.state);
  expect(repairs).toEqual(quiet.repairs);
  // What was published and not marked is published once more, and has one row for each number all the same.
  expect(publications).toEqual([...new Set(publications)]);
  expect(publications).toEqual(expect.arrayContaining([...quiet.publications]));
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
}

describe("kill -9 of the reconciler", () => {
  test.each(cases)("at %s: the next ones finish, and each repair has one row", async (_, fault) => {
    const trial = await afresh();
    const reconciler = await victim([fault]);
    expect(await reconciler.reconcile()).toEqual({ kind: "ended", how: "SIGKILL" });
    await expectAsQuiet(trial);
  });
});

test("three reconcilers at once, of which two are killed in the middle, leave what one does", async () => {
  const trial = await afresh();
  const dying = [
    await victim([{ point: "timers.after-resume", action: "kill" }]),
    await victim([{ point: "containment.after-look", action: "kill" }]),
  ];
  await Promise.all([...dying.map((one) => one.reconcile()), world.reconcile()]);
  for (const one of dying) one.signal("SIGKILL");
  await until("both have gone", () => dying.every((one) => !one.alive()));
  await expectAsQuiet(trial);
});
