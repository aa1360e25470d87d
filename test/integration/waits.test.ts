import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Principal } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

const LEGAL: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const OTHER_LEGAL: Principal = { tenantId: "acme", subject: "user:edsger", roles: ["legal"] };

const calls: string[] = [];
const step = (name: string) => () => {
  calls.push(name);
  return name;
};
const any = z.unknown();
const base = { version: 1, onWorkerLoss: "resume", input: any } as const;

const asks = workflow({
  ...base,
  name: "asks",
  run: async (ctx) => {
    await ctx.step("before", step("before"));
    const consent = await ctx.consent("ship it", {
      deciders: ["role:legal"],
      expires: "3d",
      detail: { risk: "low" },
    });
    return { consent, after: await ctx.step("after", step("after")) };
  },
});
const quorum = workflow({
  ...base,
  name: "quorum",
  run: (ctx) =>
    ctx.consent("two of them", { deciders: ["role:legal"], quorum: 2, onExpiry: "grant", expires: "1h" }),
});
const sleeps = workflow({
  ...base,
  name: "sleeps",
  run: async (ctx) => {
    const before = ctx.now();
    await ctx.sleep("7d");
    return ctx.now().getTime() - before.getTime();
  },
});
const listens = workflow({
  ...base,
  name: "listens",
  run: async (ctx) => [
    await ctx.waitForSignal("paid", { schema: z.object({ amount: z.number() }), timeout: "1d" }),
    await ctx.waitForSignal("paid", { timeout: "1d" }),
  ],
});
const first = workflow({
  ...base,
  name: "first",
  run: async (ctx) => {
    const { winner } = await ctx.first({
      paid: ctx.waitForSignal("paid"),
      late: ctx.sleep("1h"),
    });
    return [winner, await ctx.step("last", step("last"))];
  },
});
const both = workflow({
  ...base,
  name: "both",
  run: (ctx) =>
    Promise.all([
      ctx.sleep("1h").then(() => ctx.step("slept", step("slept"))),
      ctx.consent("go", { deciders: ["user:grace"] }).then(({ outcome }) => outcome),
      ctx.step("at once", step("at once")),
    ]),
});
const retries = workflow({
  ...base,
  name: "retries",
  run: (ctx) =>
    ctx.step(
      "flaky",
      ({ tryNumber }) => {
        calls.push(`try ${tryNumber}`);
        if (tryNumber < 3) throw new Error("not yet");
        return tryNumber;
      },
      { tries: 3, backoff: { initial: "1h", factor: 1 } },
    ),
});
const races = workflow({
  ...base,
  name: "races",
  run: (ctx) => Promise.race([ctx.sleep("1h"), ctx.waitForSignal("paid")]),
});
const counts = workflow({
  ...base,
  name: "counts",
  input: z.object({ left: z.number() }),
  run: async (ctx, { left }) => {
    await ctx.step("count", step(`count ${left}`));
    return left === 0 ? "done" : ctx.restart({ left: left - 1 });
  },
});
const deadlined = workflow({
  ...base,
  name: "deadlined",
  deadline: "2d",
  run: (ctx) => ctx.waitForSignal("never"),
});

const says = workflow({
  ...base,
  name: "says",
  run: async (ctx) => {
    await ctx.step("one", step("one"));
    ctx.log.info("before the first sleep");
    await ctx.sleep("1h", { name: "first" });
    ctx.log.info("between the sleeps");
    await ctx.sleep("1h", { name: "second" });
    ctx.log.info("after the second");
    return ctx.step("two", step("two"));
  },
});
const workflows = [says, asks, quorum, sleeps, listens, first, both, retries, races, counts, deadlined];
const world = await testWorld({ workflows });
beforeEach(() => {
  calls.length = 0;
});
afterEach(async () => {
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  await world.reset();
});

async function submitted(name: string, input: unknown = {}) {
  const { runId } = await world.submit(name, input);
  await world.drain();
  return runId;
}
async function consentOf(runId: string) {
  const { consents } = await world.consents.list("acme", { runId }, { limit: 10 });
  return (await world.consents.get("acme", consents[0]!.consentId))!;
}
async function passes(seconds: number) {
  await world.advance(seconds);
  await world.reconcile();
  await world.drain();
}

describe("a consent", () => {
  it("parks its run, and brings it back once with the decision, repeating no step", async () => {
    const runId = await submitted("asks");
    expect(await world.view(runId)).toMatchObject({
      status: "AWAITING_CONSENT",
      waits: [{ kind: "consent", name: "ship it" }],
    });
    const consent = await consentOf(runId);
    expect(consent).toMatchObject({ status: "PENDING", detail: { risk: "low" }, deciders: ["role:legal"] });
    await expect(
      world.consents.decide(SOMEBODY, consent.consentId, { verdict: "grant", digest: consent.digest }),
    ).rejects.toMatchObject({ code: "not_a_decider" });
    await expect(
      world.consents.decide(LEGAL, consent.consentId, { verdict: "grant", digest: "of another" }),
    ).rejects.toMatchObject({ code: "consent_changed" });
    const word = { verdict: "grant", digest: consent.digest, comment: "fine by me" } as const;
    expect(await world.consents.decide(LEGAL, consent.consentId, word)).toMatchObject({
      status: "GRANTED",
      resumed: true,
    });
    expect(await world.consents.decide(LEGAL, consent.consentId, word)).toMatchObject({ repeated: true });
    await expect(
      world.consents.decide(OTHER_LEGAL, consent.consentId, { verdict: "deny", digest: consent.digest }),
    ).rejects.toMatchObject({ code: "consent_closed", message: expect.stringContaining("user:grace") });
    await world.drain();
    const view = await world.view(runId);
    expect(view).toMatchObject({
      status: "DONE",
      output: {
        consent: { outcome: "GRANTED", by: "user:grace", decisions: [{ comment: "fine by me" }] },
        after: "after",
      },
    });
    expect(calls).toEqual(["before", "after"]);
  });

  it("expires once, even where no pass has seen it: a decision after it is too late", async () => {
    const runId = await submitted("asks");
    const consent = await consentOf(runId);
    await world.advance(4 * 86_400);
    await expect(
      world.consents.decide(LEGAL, consent.consentId, { verdict: "grant", digest: consent.digest }),
    ).rejects.toMatchObject({ code: "consent_closed", message: expect.stringContaining("EXPIRED") });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { consent: { outcome: "EXPIRED" } },
    });
  });

  it("counts distinct grants up to its quorum, and means what its author says when its time is over", async () => {
    const runId = await submitted("quorum");
    const consent = await consentOf(runId);
    const grant = { verdict: "grant", digest: consent.digest } as const;
    expect(await world.consents.decide(LEGAL, consent.consentId, grant)).toMatchObject({ status: "PENDING" });
    await passes(3_700);
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "GRANTED", by: "expiry", decisions: [{ by: "user:grace" }] },
    });
    const second = await submitted("quorum");
    const other = await consentOf(second);
    const word = { ...grant, digest: other.digest };
    await world.consents.decide(LEGAL, other.consentId, word);
    expect(await world.consents.decide(OTHER_LEGAL, other.consentId, word)).toMatchObject({
      status: "GRANTED",
    });
    await world.drain();
    expect(await world.view(second)).toMatchObject({ status: "DONE", output: { outcome: "GRANTED" } });
  });
});

describe("a log", () => {
  it("has what the code says between a wait and what comes next, once", async () => {
    world.logged.length = 0;
    const { runId } = await world.submit("says");
    await world.drain();
    await world.later(3_601);
    await world.later(3_601);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    const said = world.logged.map(({ message }) => message).filter((line) => /sleep|second/.test(line));
    expect(said).toEqual(["before the first sleep", "between the sleeps", "after the second"]);
  });
});

describe("a timer", () => {
  it("brings its run back a week later, through the reconciler alone", async () => {
    const runId = await submitted("sleeps");
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    await passes(6 * 86_400);
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    await passes(86_400);
    const view = await world.view(runId);
    expect(view.status).toBe("DONE");
    expect(Number(view.output)).toBeGreaterThanOrEqual(7 * 86_400_000);
  });

  it("carries a step's next try that is far away: the run is parked between its tries", async () => {
    const runId = await submitted("retries");
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    expect(calls).toEqual(["try 1"]);
    await passes(3_700);
    expect(calls).toEqual(["try 1", "try 2"]);
    await passes(3_700);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: 3 });
  });

  it("ends a run at its deadline, and closes what it waited for", async () => {
    const runId = await submitted("deadlined");
    await passes(3 * 86_400);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "deadline", waits: [] });
  });
});

describe("a signal", () => {
  it("that comes early is kept and consumed once, the oldest first; what does not fit is said", async () => {
    const runId = (await world.submit("listens", {})).runId;
    const send = (payloadText: string, idempotencyKey: string) =>
      world.signals.send(SOMEBODY, runId, { name: "paid", payloadText, idempotencyKey });
    expect(await send('{"amount":"much"}', "k1")).toMatchObject({ resumed: false, repeated: false });
    expect(await send('{"amount":"much"}', "k1")).toMatchObject({ repeated: true });
    await expect(send('{"amount":2}', "k1")).rejects.toMatchObject({ code: "idempotency_conflict" });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_SIGNAL" });
    expect(await send("7", "k2")).toMatchObject({ resumed: true });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: [
        { outcome: "INVALID", payload: { amount: "much" }, from: "user:ada" },
        { outcome: "RECEIVED", payload: 7 },
      ],
    });
    await expect(send("8", "k3")).rejects.toMatchObject({ code: "run_ended" });
  });

  it("that does not come times out", async () => {
    const runId = await submitted("listens");
    await passes(86_500);
    await passes(86_500);
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: [{ outcome: "TIMED_OUT" }, { outcome: "TIMED_OUT" }],
    });
  });
});

describe("several waits", () => {
  it("the first of them wins, and what loses is closed with the run", async () => {
    const runId = await submitted("first");
    await world.signals.send(SOMEBODY, runId, { name: "paid", payloadText: undefined });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: ["paid", "last"], waits: [] });
  });

  it("beside steps: each goes on by itself, and the arms that stay open are taken over", async () => {
    const runId = await submitted("both");
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT" });
    const consent = await consentOf(runId);
    await world.consents.decide(LEGAL, consent.consentId, { verdict: "deny", digest: consent.digest });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER", waits: [{ name: "1h" }] });
    await passes(3_700);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: ["slept", "DENIED", "at once"] });
    expect(calls).toEqual(["at once", "slept"]);
  });

  it("given to Promise.race are refused with the fix", async () => {
    const runId = await submitted("races");
    const view = await world.view(runId);
    expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
    expect(view.error?.message).toContain("ctx.first");
  });
});

describe("a restart", () => {
  it("goes on with another input and an empty journal", async () => {
    const runId = await submitted("counts", { left: 3 });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "done", input: { left: 0 } });
    expect(calls).toEqual(["count 3", "count 2", "count 1", "count 0"]);
  });
});
