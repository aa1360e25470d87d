import { afterEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Principal } from "@ghouls/core";
import { heldInTheMiddle } from "../support/races.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const GRACE: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const EDSGER: Principal = { tenantId: "acme", subject: "user:edsger", roles: ["legal"] };
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const legal = { deciders: ["role:legal"] } as const;

const asks = workflow({
  ...base,
  name: "asks",
  run: async (ctx) => (await ctx.consent("ship it", { ...legal, expires: "1d" })).outcome,
});
const listens = workflow({
  ...base,
  name: "listens",
  run: async (ctx) => (await ctx.waitForSignal("paid")).outcome,
});
/** Its second park takes the consent over. */
const takesOver = workflow({
  ...base,
  name: "takes-over",
  run: async (ctx) => {
    const consent = ctx.consent("ship it", legal);
    await ctx.waitForSignal("first");
    return (await consent).outcome;
  },
});
const naps = workflow({
  ...base,
  name: "naps",
  run: async (ctx) => {
    const nap = ctx.sleep("1h");
    await ctx.waitForSignal("first");
    await nap;
    return "woke";
  },
});

let atStatement: ((name: string) => void | Promise<void>) | undefined;
const world = await testWorld({
  workflows: [asks, listens, takesOver, naps],
  maxConnections: 12,
  faults: async (point, detail) => {
    if (point === "ledger.before-statement") await atStatement?.(detail);
    if (point === "ledger.after-commit" || point === "ledger.before-commit")
      await atStatement?.(`${point} ${detail}`);
  },
});
const { db } = world;
afterEach(async () => {
  atStatement = undefined;
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  await world.reset();
});

async function parked(name: string): Promise<string> {
  const { runId } = await world.submit(name, {});
  await world.drain();
  return runId;
}
async function consentOf(runId: string) {
  const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
  return consents[0] as (typeof consents)[number];
}
const decide = async (who: Principal, runId: string, verdict: "grant" | "deny") => {
  const { consentId, digest } = await consentOf(runId);
  return world.consents.decide(who, consentId, { verdict, digest });
};
const told = (work: Promise<unknown>) =>
  work.then(
    (value) => value,
    (error: unknown) => error as Error,
  );

/** The time of its consent is over. */
async function expire(runId: string): Promise<void> {
  for (const [table, column] of [
    ["consents", "expires_at"],
    ["arms", "due_at"],
  ] as const)
    await db.admin(`update ghouls.${table} set ${column} = ghouls.clock() where run_id = $1`, [runId]);
  await world.reconcile();
}

const MOVES = {
  grant: (runId: string) => decide(GRACE, runId, "grant"),
  deny: (runId: string) => decide(EDSGER, runId, "deny"),
  expire: (runId: string) => expire(runId),
  cancel: (runId: string) => world.control.cancel(SOMEBODY, runId, "no longer wanted"),
} as const;
type Move = keyof typeof MOVES;

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item) =>
    ordersOf(items.filter((one) => one !== item)).map((rest) => [item, ...rest]),
  );
}

const OUTCOMES = { grant: "GRANTED", deny: "DENIED", expire: "EXPIRED" } as const;

async function resumptionsOf(runId: string): Promise<number> {
  const [row] = await db.admin<{ n: number }>(
    "select count(*)::integer as n from ghouls.deliveries where run_id = $1 and cause = 'resumed'",
    [runId],
  );
  return row?.n ?? -1;
}

describe("two deciders, an expiry and a cancel:", () => {
  test.each(ordersOf(Object.keys(MOVES) as Move[]).map((order) => [order.join(", "), order] as const))(
    "in the order %s there is one outcome and at most one resume",
    async (_, order) => {
      const runId = await parked("asks");
      for (const move of order) await told(MOVES[move](runId));
      const [firstMove] = order;
      const first = order.find((move) => move !== "cancel") as Exclude<Move, "cancel">;
      const consent = await consentOf(runId);
      expect(consent.status).toBe(firstMove === "cancel" ? "CANCELLED" : OUTCOMES[first]);
      expect(await resumptionsOf(runId)).toBe(firstMove === "cancel" ? 0 : 1);
      await world.drain();
      // Nothing carried it before the cancel came, which every order has.
      expect((await world.view(runId)).status).toBe("CANCELLED");
    },
  );

  test.each(
    ordersOf(["grant", "deny", "cancel"] as const).map((order) => [order.join(", "), order] as const),
  )(
    "that wait for the same lock, in the order %s: the first decides, and the others are told who won",
    async (_, order) => {
      const runId = await parked("asks");
      const answers: Promise<unknown>[] = [];
      const start = (move: Move) => void answers.push(told(MOVES[move](runId)));
      await heldInTheMiddle(
        db,
        (holder) => holder.query("select from ghouls.runs where run_id = $1 for update", [runId]),
        async () => start(order[0] as Move),
        async () => {
          for (const move of order.slice(1)) {
            start(move);
            await expect
              .poll(async () => (await blocked()).length, { interval: 5, timeout: 60_000 })
              .toBe(answers.length);
          }
        },
      );
      const settled = await Promise.all(answers);
      const consent = await consentOf(runId);
      const [winner] = order;
      expect(consent.status).toBe(winner === "cancel" ? "CANCELLED" : OUTCOMES[winner as "grant" | "deny"]);
      for (const [at, move] of order.entries()) {
        if (at === 0 || move === "cancel") continue;
        expect(settled[at]).toMatchObject({ code: "consent_closed" });
      }
      expect(await resumptionsOf(runId)).toBe(winner === "cancel" ? 0 : 1);
    },
  );
});

async function blocked(): Promise<object[]> {
  return db.admin("select pid from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0");
}

/** The statements of a park, in their order, and its commit. */
const PARK = [
  "runs.lock",
  "arms.open",
  "arms.of-run",
  "arms.close-steps",
  "consents.expire",
  "arms.facts",
  "deliveries.park",
  "ledger.before-commit deliveries.park",
  "ledger.after-commit deliveries.park",
] as const;

/** Begins `act` where the park of a hop comes to this point, and lets the park go on once the act is done or waits for it. */
function during(point: string, act: () => Promise<unknown>): { done: () => Promise<unknown> } {
  let acted: Promise<unknown> | undefined;
  let parking = false;
  atStatement = async (name) => {
    if (name === "runs.lock") parking = true;
    if (!parking || name !== point || acted !== undefined) return;
    let over = false;
    acted = act().finally(() => {
      over = true;
    });
    await expect
      .poll(async () => over || (await blocked()).length > 0, { interval: 5, timeout: 60_000 })
      .toBe(true);
  };
  return {
    done: async () => {
      atStatement = undefined;
      expect(acted, `the park came to ${point}`).toBeDefined();
      return acted;
    },
  };
}

describe.each(PARK)("while a run parks, at %s,", (point) => {
  test("a signal is consumed once", async () => {
    const { runId } = await world.submit("listens", {});
    const act = during(point, () =>
      world.signals.send(SOMEBODY, runId, { name: "paid", payloadText: undefined }),
    );
    await world.drain();
    await act.done();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "RECEIVED", steps: 1 });
  });

  test("a decision about a consent that it takes over is consumed once", async () => {
    const runId = await parked("takes-over");
    await world.signals.send(SOMEBODY, runId, { name: "first", payloadText: undefined });
    const act = during(point, () => decide(GRACE, runId, "grant"));
    await world.drain();
    await act.done();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "GRANTED", steps: 2 });
  });

  test("a timer that comes due is consumed once", async () => {
    const runId = await parked("naps");
    await world.signals.send(SOMEBODY, runId, { name: "first", payloadText: undefined });
    const act = during(point, async () => {
      await world.advance(3_700);
      const [arm] = await db.admin<{ arm_id: string }>(
        "select arm_id from ghouls.arms where run_id = $1 and kind = 'sleep'",
        [runId],
      );
      await world.deliver([`wake:${arm?.arm_id}`]);
    });
    await world.drain();
    await act.done();
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "woke", steps: 2 });
  });
});

test("the answer of a park's COMMIT is lost: the run is parked once, and nothing is undone", async () => {
  let lost = 0;
  atStatement = (name) => {
    if (name !== "ledger.after-commit deliveries.park" || lost > 0) return;
    lost += 1;
    throw new Error("socket hang up");
  };
  const runId = await parked("asks");
  expect(lost).toBe(1);
  expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT", enqueueSeq: 1 });
  expect(await db.admin("select 1 from ghouls.waits where run_id = $1", [runId])).toHaveLength(1);
  expect(await db.admin("select 1 from ghouls.consents where run_id = $1", [runId])).toHaveLength(1);
  await decide(GRACE, runId, "grant");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "GRANTED" });
});
