import { afterEach, expect, test } from "vitest";
import { workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import { wire } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

type Code = (ctx: WorkflowContext) => Promise<unknown>;
let code: Code = () => Promise.resolve();
const job = workflow({
  name: "job",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => code(ctx),
});
const world = await testWorld({
  workflows: [job],
  decisionSources: { tickets: { lookUp: () => Promise.resolve({ outcome: "pending" }) } },
});
afterEach(() => world.reset());

async function carried(run: Code) {
  code = run;
  const { runId } = await world.submit("job");
  await world.drain();
  return world.view(runId);
}

test.each(["Zahlung für Grace", "two\nlines", " paid", ".", ".."])(
  "a signal %j that nobody could send is refused, instead of a run that waits for ever",
  async (name) => {
    expect(wire.SIGNAL_NAME.test(name)).toBe(false);
    const view = await carried((ctx) => ctx.waitForSignal(name));
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain(wire.SIGNAL_NAME_RULE);
  },
);

test.each(["...", ".paid", "a/b", "a b"])("a signal %j is waited for", async (name) => {
  expect((await carried((ctx) => ctx.waitForSignal(name))).status).toBe("AWAITING_SIGNAL");
});

test("a sleep until long before the ledger's time begins is over, and does not fail each park", async () => {
  const view = await carried(async (ctx) => {
    await ctx.sleep(new Date(-8.64e15));
    return "slept";
  });
  expect(view).toMatchObject({ status: "DONE", output: "slept" });
});

test("a sleep until the last moment that is kept waits, and one beyond it is refused with the fix", async () => {
  const last = new Date("9999-12-31T23:59:59.999Z");
  expect(await carried((ctx) => ctx.sleep(last))).toMatchObject({
    status: "AWAITING_TIMER",
    waits: [{ dueAt: last.toISOString() }],
  });
  const view = await carried((ctx) => ctx.sleep(new Date(last.getTime() + 1)));
  expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
  expect(view.error?.message).toContain("before the year 10000");
});

test.each([
  { why: "its only decider has asked for the run", deciders: [SOMEBODY.subject] },
  { why: "its quorum needs who has asked", deciders: [SOMEBODY.subject, "user:grace"], quorum: 2 },
])("a consent that can never be granted is refused by name: $why", async ({ deciders, quorum = 1 }) => {
  const view = await carried((ctx) => ctx.consent("c", { deciders, quorum, expires: "1h" }));
  expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
  expect(view.error?.message).toContain(`${SOMEBODY.subject} has asked for the run`);
});

test.each([
  ["who has asked may decide", { deciders: [SOMEBODY.subject], requesterMayDecide: true }],
  ["a source decides by itself", { deciders: [SOMEBODY.subject], source: "tickets" }],
  ["others are enough", { deciders: [SOMEBODY.subject, "user:grace"] }],
  ["a role may have others", { deciders: [SOMEBODY.subject, "role:legal"], quorum: 2 }],
])("a consent is asked where %s", async (_why, options) => {
  expect((await carried((ctx) => ctx.consent("c", options))).status).toBe("AWAITING_CONSENT");
});
