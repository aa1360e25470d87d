import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type AuthorityCheck } from "ghouls";
import type { Principal } from "@ghouls/core";
import { createKeyAuthority } from "@ghouls/engine";
import { asMigrator, makeKey } from "../support/keys.ts";
import { requestOf, SOMEBODY, testWorld } from "../support/world.ts";

const LEGAL: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const ran: string[] = [];
const step = (name: string) => () => {
  ran.push(name);
  return name;
};
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

const gated = workflow({
  ...base,
  name: "gated",
  authority: { roles: ["operator"] },
  run: async (ctx) => {
    await ctx.step("before", step("before"));
    const { outcome } = await ctx.consent("go on", { deciders: ["role:legal"], expires: "3d" });
    await ctx.step("after", step("after"));
    return { outcome, authority: ctx.authority };
  },
});
const open = workflow({ ...base, name: "open", run: async (ctx) => ctx.authority });

/** Stands in for the ledger's own where a test sets it. */
let check: AuthorityCheck["check"] | undefined;
const world = await testWorld({
  workflows: [gated, open],
  authority: {
    check: (question, signal) =>
      check?.(question, signal) ?? createKeyAuthority(world.ledger).check(question, signal),
  },
  settings: { giveBacksBeforeAttention: 2 },
});
const { db } = world;
/** Nothing is waited for in earnest: for owners that hang, and never for one that asks the ledger. */
const impatient = { settings: { ...world.deps.settings, ownerDeadlineMs: 50 } };
const revoke = (keyId: string) =>
  asMigrator(db, (keys) => keys.revoke(keyId, { actor: null, reason: "by a test" }));

beforeEach(async () => {
  await world.reset();
  await db.admin("truncate ghouls.api_keys");
  [check, ran.length, world.logged.length] = [undefined, 0, 0];
});

async function parked(): Promise<string> {
  const { runId } = await world.submit("gated");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT" });
  return runId;
}
async function decided(runId: string): Promise<void> {
  const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
  const { consentId } = consents[0]!;
  const { digest } = (await world.consents.get("acme", consentId))!;
  await world.consents.decide(LEGAL, consentId, { verdict: "grant", digest });
  await world.drain();
}
const deliveries = (runId: string) =>
  db.admin("select outcome from ghouls.deliveries where run_id = $1 order by seq", [runId]);
const lossesOf = async (runId: string) =>
  (await db.admin("select losses, idle_yields from ghouls.runs where run_id = $1", [runId]))[0];

describe("the recorded authority", () => {
  test("is what the code sees, as it was admitted", async () => {
    const { runId } = await world.submit("open");
    await world.drain();
    expect((await world.view(runId)).output).toEqual({ subject: "user:ada", roles: ["operator"] });
  });

  test("is not asked about for a workflow that requires none", async () => {
    check = () => Promise.reject(new Error("it was asked"));
    const { runId } = await world.submit("open");
    await world.drain();
    expect((await world.view(runId)).status).toBe("DONE");
  });

  test("that still holds lets the run go on, on every hop", async () => {
    await makeKey(db, SOMEBODY);
    const runId = await parked();
    await decided(runId);
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "GRANTED", authority: { subject: "user:ada" } },
    });
    expect(ran).toEqual(["before", "after"]);
  });

  test("whose key is revoked while the run is parked fails it at the next hop, and nothing after it has run", async () => {
    const key = await makeKey(db, SOMEBODY);
    const runId = await parked();
    await revoke(key.keyId);
    await decided(runId);
    expect(await world.view(runId)).toMatchObject({
      status: "FAILED",
      error: {
        code: "authority_revoked",
        message:
          'the authority of "user:ada" does not hold: it has no key that is neither revoked nor expired',
      },
    });
    expect(ran).toEqual(["before"]);
    expect(await world.broken()).toEqual([]);
  });

  test("whose key has expired by the ledger's clock does not hold", async () => {
    await makeKey(db, SOMEBODY, 3_600_000);
    const runId = await parked();
    await world.advance(3_601);
    await decided(runId);
    expect((await world.view(runId)).error?.code).toBe("authority_revoked");
    expect(ran).toEqual(["before"]);
  });

  test("does not hold by a key of another role, subject or tenant", async () => {
    const other = await makeKey(db, { ...SOMEBODY, roles: ["viewer", "operator"] });
    const runId = await parked();
    await makeKey(db, { ...SOMEBODY, roles: ["viewer"] });
    await makeKey(db, { ...SOMEBODY, subject: "user:bob" });
    await makeKey(db, { ...SOMEBODY, tenantId: "umbrella" });
    await revoke(other.keyId);
    await decided(runId);
    expect((await world.view(runId)).error).toMatchObject({
      code: "authority_revoked",
      message: expect.stringContaining('no usable key of it has the role "operator"'),
    });
  });

  test("is no more than the admission's, whatever roles its subject has got since", async () => {
    await makeKey(db, SOMEBODY);
    const viewer = { ...SOMEBODY, roles: ["viewer"] };
    const { runId } = await world.admission.admit(viewer, requestOf({ workflow: "gated", input: null }));
    await world.drain();
    expect((await world.view(runId)).error?.message).toContain('it was admitted without the role "operator"');
    expect(ran).toEqual([]);
  });
});

describe("where nobody knows whether it holds,", () => {
  test.each([
    ["the check throws", () => Promise.reject(new Error("the directory is down"))],
    ["the check hangs", () => new Promise<never>(() => undefined)],
    ["the check says something else", () => Promise.resolve({ outcome: "no" } as never)],
    ["the check gives no reason", () => Promise.resolve({ outcome: "revoked" } as never)],
  ])(
    "because %s, the delivery goes back, and the run goes on later with no loss counted",
    async (_why, ask) => {
      await makeKey(db, SOMEBODY);
      check = ask;
      const { runId } = await world.submit("gated");
      await world.drain({ deps: impatient });
      expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2, attention: null });
      expect(await deliveries(runId)).toEqual([{ outcome: "given_back" }, { outcome: null }]);
      await world.later(20);
      expect(await world.view(runId)).toMatchObject({ enqueueSeq: 2 });
      check = undefined;
      await world.later(11);
      expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
      expect(await lossesOf(runId)).toEqual({ losses: 0, idle_yields: 0 });
      expect(ran).toEqual(["before"]);
      expect(await world.broken()).toEqual([]);
    },
  );

  test("a person is asked once it has lasted", async () => {
    await makeKey(db, SOMEBODY);
    check = () => Promise.reject(new Error("the directory is down"));
    const { runId } = await world.submit("gated");
    await world.drain();
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({ enqueueSeq: 3, attention: null });
    await world.later(31);
    expect(await world.view(runId)).toMatchObject({
      status: "QUEUED",
      attention: {
        reason: "holdings_unknown: the authority: Error: the directory is down (given back 2 times before)",
      },
    });
  });

  test("the delivery goes back all the same where no person can be asked", async () => {
    check = () => Promise.reject(new Error("the directory is down"));
    const { runId } = await world.submit("gated");
    const deliveries = {
      ...world.ledger.deliveries,
      wereGivenBack: () => Promise.reject(new Error("the ledger is down")),
    };
    await world.drain({ deps: { ledger: { ...world.ledger, deliveries } } });
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    expect(world.logged.map(({ message }) => message)).toContain("attention could not be raised");
  });

  test("a debugger has the time that it needs, where somebody else holds the lease", async () => {
    check = async () => {
      // Longer than the deadline that must not count here: there is no other fact to wait for than that it has passed.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { outcome: "valid" };
    };
    const { runId } = await world.submit("gated");
    await world.drain({ deps: { settings: { ...impatient.settings, leaseHeld: true } } });
    expect((await world.view(runId)).status).toBe("AWAITING_CONSENT");
  });

  test("the check is told that nobody waits any more", async () => {
    const told = Promise.withResolvers<string>();
    check = (_question, signal) =>
      new Promise(() => signal.addEventListener("abort", () => told.resolve(String(signal.reason))));
    await world.submit("gated");
    await world.drain({ deps: impatient });
    expect(await told.promise).toContain("nobody waits for it any more");
  });

  test("a drain does not wait for it, and a fence ends it", async () => {
    const { runId } = await world.submit("gated");
    const drain = new AbortController();
    check = () => {
      drain.abort();
      return new Promise(() => undefined);
    };
    const settings = { ...world.deps.settings, ownerDeadlineMs: 600_000 };
    const [outcome] = await world.deliver([`run:${runId}:1`], { draining: drain.signal, settings });
    expect(outcome).toMatchObject({ done: true, reason: "handed_over" });
    await world.advance(1);
    check = () => new Promise(() => undefined);
    const asked = world.deliver([`run:${runId}:2`], {
      settings: { ...settings, leaseMs: 400, beatMs: 100 },
      faults: async (point) => {
        if (point === "holdings.before-ask") await world.control.cancel(SOMEBODY, runId, "by a test");
      },
    });
    expect(await asked).toMatchObject([{ done: true }]);
    expect((await world.view(runId)).status).toMatch(/^CANCELL/);
  });
});
