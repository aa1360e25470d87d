import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { DecisionSource, Principal, SourceAnswer } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

const GRACE: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const asks = workflow({
  name: "asks",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ source: z.string() }),
  run: (ctx, { source }) =>
    ctx.consent("ship it", { deciders: ["role:legal"], source, expires: "1h", detail: { risk: "low" } }),
});

let asked: unknown[] = [];
let answer: DecisionSource["lookUp"] = () => Promise.resolve({ outcome: "pending" });
const world = await testWorld({
  workflows: [asks],
  // Long enough for those that answer, on a machine that is busy with more than this.
  settings: { ownerDeadlineMs: 2_000 },
  decisionSources: {
    tickets: {
      lookUp: (question, signal) => {
        asked.push(question);
        return answer(question, signal);
      },
    },
    silent: { lookUp: () => new Promise(() => undefined) },
  },
});
beforeEach(() => {
  asked = [];
  world.logged.length = 0;
});
afterEach(() => world.reset());

async function parked(source: string): Promise<string> {
  const { runId } = await world.submit("asks", { source });
  await world.drain();
  return runId;
}

describe("a decision source", () => {
  test("is asked about the frozen request until it decides, and brings the run back once", async () => {
    const runId = await parked("tickets");
    expect((await world.reconcile()).consents).toMatchObject({ found: 1, repaired: 0 });
    expect(asked).toMatchObject([{ runId, title: "ship it", detail: { risk: "low" } }]);
    // Not again before its time.
    expect((await world.reconcile()).consents).toMatchObject({ found: 0 });
    answer = () => Promise.resolve({ outcome: "grant", by: "TICKET-7", comment: "approved" });
    await world.advance(40);
    expect((await world.reconcile()).consents).toMatchObject({ found: 1, repaired: 1 });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "GRANTED", by: "source:tickets/TICKET-7", decisions: [{ comment: "approved" }] },
    });
  });

  test("that does not answer keeps its consent, and takes no other's turn", async () => {
    answer = () => Promise.resolve({ outcome: "deny", by: "TICKET-8" });
    const [silent, told] = [await parked("silent"), await parked("tickets")];
    expect((await world.reconcile()).consents).toMatchObject({ found: 2, repaired: 1, failed: 1 });
    await world.drain();
    expect((await world.view(silent)).status).toBe("AWAITING_CONSENT");
    expect(await world.view(told)).toMatchObject({ status: "DONE", output: { outcome: "DENIED" } });
  });

  test("that fails is asked again later, and its run is told by nobody", async () => {
    answer = () => Promise.reject(new Error("503"));
    const runId = await parked("tickets");
    expect((await world.reconcile()).consents).toMatchObject({ failed: 1 });
    expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
    expect(world.logged.some(({ message }) => message.includes("could not be looked after"))).toBe(true);
  });

  const decided = () => world.logged.some(({ message }) => message.includes("source has decided"));

  test("that was slower than a person is neither counted nor told of as the one that decided", async () => {
    const runId = await parked("tickets");
    answer = async () => {
      const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
      const { consentId, digest } = consents[0]!;
      await world.consents.decide(GRACE, consentId, { verdict: "deny", digest });
      return { outcome: "grant", by: "TICKET-9" };
    };
    expect((await world.reconcile()).consents).toMatchObject({ found: 1, repaired: 0, failed: 0 });
    expect(decided()).toBe(false);
    expect(world.logged).toContainEqual(
      expect.objectContaining({
        message: "a decision source was late",
        fields: expect.objectContaining({ outcome: "grant", status: "DENIED" }),
      }),
    );
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "DENIED" } });
  });

  test("that answers after the consent's time has decided nothing, and brings its run back as expired", async () => {
    const runId = await parked("tickets");
    answer = async () => {
      await world.advance(3_601);
      return { outcome: "grant", by: "TICKET-10" };
    };
    expect((await world.reconcile()).consents).toMatchObject({ repaired: 1 });
    expect(decided()).toBe(false);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "EXPIRED" } });
  });

  test.each([
    undefined,
    "grant",
    {},
    { outcome: "yes", by: "T-1" },
    { outcome: "grant" },
    { outcome: "grant", by: "" },
    { outcome: "deny", by: 7 },
    { outcome: "grant", by: "x".repeat(201) },
    { outcome: "grant", by: "T-1", comment: { text: "no" } },
  ])("that answers %j has decided nothing, and is asked again", async (odd) => {
    answer = () => Promise.resolve(odd as SourceAnswer);
    const runId = await parked("tickets");
    expect((await world.reconcile()).consents).toMatchObject({ repaired: 0, failed: 1 });
    expect(JSON.stringify(world.logged)).toContain("NoDecision");
    expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
    answer = () => Promise.resolve({ outcome: "grant", by: "TICKET-11" });
    await world.advance(40);
    expect((await world.reconcile()).consents).toMatchObject({ repaired: 1 });
  });

  test("that the configuration does not have is refused by name, before anything waits for it", async () => {
    const runId = await parked("nobody");
    const view = await world.view(runId);
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain('"nobody"');
  });
});
