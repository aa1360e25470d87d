import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startGhouls } from "@ghouls/testing";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { agent, agentOf } from "./agent.ts";
import { calling, paymentsFolder, profileWith } from "./agent.support.ts";
import type { Deed } from "./conversation.ts";
import { payments } from "./payments.ts";
import type { Profiles } from "./profiles.ts";
import type { Move, Seen } from "./scripted-model.ts";

/** What the scripted model of the tests does; each test sets its own. */
let script: (seen: Seen) => Move = () => ({ say: "done" });
let seen: readonly Deed[] = [];
const remembering = (now: Seen): Move => {
  seen = now.deeds;
  return script(now);
};
const profiles: Profiles = {
  clerk: profileWith(remembering),
  short: profileWith(remembering, { maxModelCalls: 5, modelCallsPerEpoch: 2 }),
};
const scripted = agentOf(profiles);
const shipped = await startGhouls({ workflows: [agent] });
const ghouls = await startGhouls({ workflows: [scripted] });
afterAll(() => Promise.all([shipped.stop(), ghouls.stop()]));
beforeEach(async () => {
  seen = [];
  vi.stubEnv("AGENT_PAYMENTS", await paymentsFolder());
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all([shipped.reset(), ghouls.reset()]);
});

const ADA = { subject: "user:ada", roles: ["decider"] };
const refund = { tool: "refund", input: { order: "1002", cents: 700, reason: "it is broken" } };
const names = (steps: readonly { name: string }[]) => steps.map(({ name }) => name);

describe("the agents that npm start runs", () => {
  test("a question is answered: a step for each model call and each tool, its words live", async () => {
    const run = await shipped.submit(agent, { goal: "Where is order 1002?" });
    const answer = "Order 1002, a pair of boots, is packed.";
    expect(await run.result()).toEqual({ outcome: "ANSWERED", answer, modelCalls: 2 });
    expect(names(await run.steps())).toEqual(["model call", "find_order", "model call"]);
    const tokens = run.streamed("tokens").map(({ chunk }) => chunk);
    expect(tokens.length).toBeGreaterThan(6);
    expect(tokens.join("")).toBe(`I look order 1002 up. ${answer}`);
  });

  test("a refund waits for people, who are shown exactly what the tool gets, and is paid once", async () => {
    const goal = "Refund order 1002, it is broken";
    const run = await shipped.submit(agent, { goal }, { agent: "cashier" });
    expect(await run.consent("refund an order")).toMatchObject({
      detail: { tool: "refund", arguments: { order: "1002", cents: 1574, reason: goal } },
    });
    expect(await payments()).toEqual([]);
    await run.decide("refund an order", "grant", { as: ADA });
    expect(await run.result()).toMatchObject({
      answer: "Order 1002, a pair of boots: 1574 cents were sent back.",
    });
    expect(await payments()).toMatchObject([{ order: "1002", cents: 1574 }]);
  });

  test("whoever asks for the run does not decide, and a denial is told to the model", async () => {
    const run = await shipped.submit(agent, { goal: "Refund order 1002" }, { agent: "cashier", as: ADA });
    await expect(run.decide("refund an order", "grant", { as: ADA })).rejects.toMatchObject({
      code: "not_a_decider",
    });
    await run.decide("refund an order", "deny", { as: { subject: "user:bob", roles: ["decider"] } });
    expect(await run.result()).toMatchObject({
      answer: 'Order 1002 was not refunded: {"type":"execution-denied","reason":"people said no"}',
    });
    expect(await payments()).toEqual([]);
  });

  test("an agent cannot use a tool that its profile lacks, whatever its model says", async () => {
    const run = await shipped.submit(agent, { goal: "Refund order 1002" });
    expect((await run.result()).answer).toContain('there is no tool \\"refund\\"; there are: find_order');
    expect(names(await run.steps())).not.toContain("refund");
  });

  test.each(["thinker", "toString", "__proto__"])("an unknown agent is refused by name: %s", async (name) => {
    const run = await shipped.submit(agent, { goal: "Where is order 1002?" }, { agent: name });
    await expect(run.result()).rejects.toThrow(
      `There is no agent "${name}". Submit with one of: clerk, cashier.`,
    );
    expect(await run.steps()).toEqual([]);
  });
});

describe("what a model says is data", () => {
  test.each([
    [{ tool: "model call", input: {} }, 'there is no tool "model call"; there are: find_order, refund'],
    [{ tool: "toString", input: {} }, 'there is no tool "toString"'],
    [{ tool: "x".repeat(300), input: {} }, `there is no tool "${"x".repeat(100)}"`],
    [{ tool: "find_order", input: { order: "../1001" } }, "four digits"],
    [{ tool: "find_order", input: { order: "1001", as: "root" } }, "as"],
    [{ tool: "find_order", input: "1001" }, "these are no arguments of it"],
    [{ tool: "refund", input: { ...refund.input, cents: -1 } }, "cents"],
    [{ tool: "refund", input: { ...refund.input, cents: 0.5 } }, "cents"],
  ])("%j runs nothing, asks nobody, and is told to it", async (call, problem) => {
    script = calling([call]);
    const run = await ghouls.submit(scripted, { goal: "go" });
    expect(await run.result()).toMatchObject({ outcome: "ANSWERED", answer: "done" });
    expect(seen).toMatchObject([{ output: { type: "error-text", value: expect.stringContaining(problem) } }]);
    expect(names(await run.steps())).toEqual(["model call", "model call"]);
    expect(await run.consents()).toEqual([]);
  });

  test("an answer may call eight tools, one after the other; the rest is told to it", async () => {
    const many = Array.from({ length: 10 }, () => ({ tool: "find_order", input: { order: "1001" } }));
    script = ({ deeds }) => (deeds.length === 0 ? { say: "All. ", calls: many } : { say: "done" });
    const run = await ghouls.submit(scripted, { goal: "go" });
    await run.result();
    expect(names(await run.steps()).filter((name) => name === "find_order")).toHaveLength(8);
    expect(seen.map(({ output }) => (output as { type: string }).type)).toEqual([
      ...Array.from({ length: 8 }, () => "json"),
      "error-text",
      "error-text",
    ]);
  });
});

describe("what becomes of a tool", () => {
  test("a worker that is lost after a payment pays no second time: its probe finds the first", async () => {
    script = calling([refund, refund]);
    const run = await ghouls.submit(scripted, { goal: "go" });
    run.crashAfter("refund");
    await run.decide("refund an order", "grant", { as: ADA });
    await run.decide("refund an order", "grant", { as: ADA });
    expect(await run.result()).toMatchObject({ outcome: "ANSWERED" });
    const made = await payments();
    expect(made).toMatchObject([{ cents: 700 }, { cents: 700 }]);
    expect(new Set(made.map(({ key }) => key)).size).toBe(2);
    expect(await run.consents()).toHaveLength(2);
  });

  test("one that has certainly not happened is told to the model after its tries", async () => {
    const folder = await paymentsFolder();
    await writeFile(join(folder, "a-file"), "");
    vi.stubEnv("AGENT_PAYMENTS", join(folder, "a-file", "payments"));
    script = calling([refund]);
    const run = await ghouls.submit(scripted, { goal: "go" });
    await run.decide("refund an order", "grant", { as: ADA });
    expect(await run.result()).toMatchObject({ answer: "done" });
    expect(seen).toMatchObject([
      { output: { type: "error-text", value: expect.stringContaining("ENOTDIR") } },
    ]);
    expect(await run.steps()).toContainEqual({ kind: "step", name: "refund", outcome: "error", tries: 3 });
  });

  test("nobody decides in time: the model is told", async () => {
    script = calling([refund]);
    const run = await ghouls.submit(scripted, { goal: "go" });
    await run.result();
    expect(seen).toMatchObject([{ output: { type: "execution-denied", reason: "nobody answered" } }]);
  });
});

describe("a conversation is bounded", () => {
  test("it continues as new after some model calls, knows what was done, and ends at the profile's bound", async () => {
    script = ({ deeds }) => ({
      say: "More. ",
      calls: [{ tool: "find_order", input: { order: String(1001 + deeds.length) } }],
    });
    const run = await ghouls.submit(scripted, { goal: "go" }, { agent: "short" });
    expect(await run.result()).toEqual({ outcome: "TOO_MANY_MODEL_CALLS", answer: "", modelCalls: 5 });
    expect(seen.map(({ input }) => (input as { order: string }).order)).toEqual(
      Array.from({ length: 4 }, (_, at) => String(1001 + at)),
    );
    const steps = names(await run.steps());
    expect(steps).toEqual(Array.from({ length: 5 }, () => ["model call", "find_order"]).flat());
    expect((await run.timeline()).filter(({ kind }) => kind === "delivery")).toHaveLength(3);
  });

  test("a deed that is too long is remembered as such", async () => {
    const calls = [{ tool: "find_order", input: { order: "y".repeat(2_000) } }];
    script = ({ deeds }) => (deeds.length < 3 ? { say: "", calls } : { say: "done" });
    const run = await ghouls.submit(scripted, { goal: "go" }, { agent: "short" });
    expect(await run.result()).toMatchObject({ answer: "done", modelCalls: 4 });
    const forgotten = "(too long to be remembered)";
    expect(seen.slice(0, 2)).toEqual([
      { tool: "find_order", input: forgotten, output: forgotten },
      { tool: "find_order", input: forgotten, output: forgotten },
    ]);
  });
});

test("a model call that fails is tried again, and its words are said again", async () => {
  let calls = 0;
  script = () => {
    calls += 1;
    if (calls === 1) throw new Error("the provider is overloaded");
    return { say: "done" };
  };
  const run = await ghouls.submit(scripted, { goal: "go" });
  expect(await run.result()).toMatchObject({ answer: "done", modelCalls: 1 });
  expect(await run.steps()).toEqual([{ kind: "step", name: "model call", outcome: "ok", tries: 2 }]);
});
