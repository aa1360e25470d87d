import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { reconcile } from "@ghouls/engine";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const once = jobService({ submit: "once" });
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const delegates = workflow({
  ...base,
  name: "delegates",
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }),
});
const onces = workflow({
  ...base,
  name: "onces",
  run: (ctx) => ctx.delegate("sign", once, { what: "it" }, { deadline: "1h" }),
});
const large = workflow({
  ...base,
  name: "large",
  run: (ctx) => ctx.delegate("sign", service, { what: "x".repeat(1_040_000) }),
});
const plain = workflow({ ...base, name: "plain", run: () => Promise.resolve("done") });
/** A signal between the two parks: the second takes the job over. */
const takesOver = workflow({
  ...base,
  name: "takes-over",
  run: async (ctx) => {
    const job = ctx.delegate("sign", service, { what: "it" });
    await ctx.waitForSignal("first");
    await ctx.step("long", () => longStep?.());
    return (await job).outcome;
  },
});
let longStep: (() => Promise<void>) | undefined;
const world = await testWorld({
  workflows: [delegates, onces, large, plain, takesOver],
  services: { service, once },
});
const { later } = world;
beforeEach(async () => {
  for (const one of [service, once]) one.forget();
  longStep = undefined;
  await world.reset();
});

describe("a service that does not answer", () => {
  // An owner's deadline of 0.4 s in an invocation of 4 s.
  test("takes no turn of the relay, and the reconciler ends inside its invocation", async () => {
    for (let n = 0; n < 12; n += 1) await world.submit("delegates");
    await world.drain();
    expect(service.jobs.size).toBe(12);
    service.misbehave = () => new Promise(() => undefined);
    await world.advance(3_600);
    await world.submit("plain");
    await world.advance(600);
    const began = performance.now();
    const remainingMs = () => 20_000 - (performance.now() - began);
    const report = await reconcile({
      ...world.deps,
      queue: world.queue,
      settings: { ...world.deps.settings, ownerDeadlineMs: 400 },
      pageSize: 1,
      pageBudgetMs: 200,
      remainingMs,
    });
    expect(remainingMs()).toBeGreaterThan(0);
    expect(report.delegates.pages).toBeGreaterThan(0);
    // Those whose services are silent have failed, and stand aside.
    expect(report.delegates).toMatchObject({ found: 12, failed: 12, degraded: 12 });
    expect(report.relay.repaired).toBe(1);
  }, 30_000);

  test("has one deadline for all that is asked of one job", async () => {
    const { runId } = await world.submit("delegates");
    await world.drain();
    await world.control.cancel(SOMEBODY, runId, "enough");
    service.misbehave = () => new Promise(() => undefined);
    // What each question was given, in milliseconds.
    const given: number[] = [];
    const { egress } = world.deps.delegation;
    const watched: typeof egress = {
      ask: (name, question, timeoutMs) => {
        given.push(timeoutMs);
        return egress.ask(name, question, timeoutMs);
      },
    };
    await reconcile({
      ...world.deps,
      delegation: { ...world.deps.delegation, egress: watched },
      queue: world.queue,
      settings: { ...world.deps.settings, ownerDeadlineMs: 1_000 },
      pageSize: 100,
      pageBudgetMs: 200,
      remainingMs: () => 60_000,
    });
    expect(given.length).toBeGreaterThan(0);
    expect(given.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1_000);
  }, 30_000);
});

test("a job that was proven not to be there when its deadline passed ends by the deadline", async () => {
  once.misbehave = async (question) => {
    if (question === "submit") throw new Error("socket hang up");
    if (question !== "lookUp") return undefined;
    await world.advance(120);
    return { state: "absent" };
  };
  const { runId } = await world.submit("onces");
  await world.drain();
  await world.advance(3_540);
  await world.reconcile();
  once.misbehave = undefined;
  for (let round = 0; round < 3; round += 1) await later(60);
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "DEADLINE" } });
});

test("a job that was not sent while its run was under way is sent soon after the next park, by the pass alone", async () => {
  // The worker that parks never comes to send: as where nothing ends its process by force.
  const receive = async () =>
    (await world.queue.receive("runs", { max: 10, waitSeconds: 0 })).map(({ body }) => body);
  const noSend = {
    ledger: {
      ...world.ledger,
      attempts: { ...world.ledger.attempts, definedOfRun: () => Promise.resolve([]) },
    },
  };
  const { runId } = await world.submit("takes-over");
  await world.deliver(await receive(), noSend);
  expect((await world.view(runId)).status).toBe("AWAITING_DELEGATE");
  await world.signals.send(SOMEBODY, runId, { name: "first", payloadText: undefined });
  longStep = async () => {
    // The hop takes a quarter of an hour, and the pass looks every minute.
    for (let minute = 0; minute < 13; minute += 1) {
      await world.advance(60);
      await reconcileJobs();
    }
  };
  const reconcileJobs = async () => {
    await world.db.admin(
      "update ghouls.deliveries set lease_until = lease_until + interval '1 hour' where status = 'CLAIMED'",
    );
    await world.reconcile();
  };
  await world.deliver(await receive(), noSend);
  let minutes = 0;
  while (!service.asked.includes("submit") && minutes < 60) {
    await world.advance(60);
    await world.reconcile();
    minutes += 1;
  }
  expect(minutes).toBeLessThanOrEqual(2);
}, 30_000);

test("three reconcilers at once ask one question of a service, as far as its misses go", async () => {
  await world.submit("delegates");
  await world.drain();
  // Nobody is answered before all three have asked.
  const all = Promise.withResolvers<undefined>();
  let questions = 0;
  service.misbehave = async () => {
    questions += 1;
    if (questions === 3) all.resolve(undefined);
    await all.promise;
    return { state: "unknown", why: "it answered 503" };
  };
  await world.advance(31);
  await Promise.all([world.reconcile(), world.reconcile(), world.reconcile()]);
  const { attempts } = await world.attempts.list("acme", {}, { limit: 1 });
  // One short outage, seen by three: no three questions in a row.
  expect(attempts[0]?.status).toBe("SUBMITTED");
});

test("a page of due attempts does not read requests that nobody sends", async () => {
  await world.submit("large");
  await world.drain();
  await world.advance(31);
  const { found } = await world.ledger.attempts.due({ limit: 100 });
  expect(found).toHaveLength(1);
  expect(JSON.stringify(found).length).toBeLessThan(100_000);
});
