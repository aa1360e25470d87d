import { beforeEach, describe, expect, test } from "vitest";
import { work, type ExecutionDeps } from "@ghouls/engine";
import { LedgerError } from "@ghouls/ledger";
import { workflow } from "ghouls";
import * as z from "zod";
import { until } from "../support/wait.ts";
import { testWorld } from "../support/world.ts";

/** A claim that is made, and whose answer never comes, in a process that nothing ends by force. */

const plain = workflow({
  name: "plain",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => ctx.step("one", () => "done"),
});
const world = await testWorld({ workflows: [plain], settings: { lateStatementMs: 20 } });
const { db, ledger } = world;

beforeEach(async () => {
  world.logged.length = 0;
  await world.reset();
});

const lost = () => new LedgerError("unavailable", "deliveries.claim", undefined, new Error("cut"));
const deaf = (more: Partial<ExecutionDeps["ledger"]["deliveries"]> = {}): ExecutionDeps["ledger"] => ({
  ...ledger,
  deliveries: {
    ...ledger.deliveries,
    claimIfDue: async (...args) => {
      await ledger.deliveries.claimIfDue(...args);
      throw lost();
    },
    ...more,
  },
});

async function claimedUnheard(over: Partial<ExecutionDeps>, endsByForce = false): Promise<string> {
  const { runId } = await world.submit("plain");
  const message = { messageId: "m", receiptHandle: "none", body: `run:${runId}:1` };
  const options = { queue: "runs", limitMs: 60_000, remainingMs: () => 60_000, endsByForce };
  const [outcome] = await work([message], { ...world.deps, ...over }, options);
  expect(outcome).toMatchObject({ done: false, reason: "unclaimed" });
  return runId;
}
const actsUntil = async (runId: string) =>
  (
    await db.admin<{ at: Date | null }>(
      "select acts_until as at from ghouls.deliveries where run_id = $1 and seq = 1",
      [runId],
    )
  )[0]?.at;

async function lapse(runId: string): Promise<string> {
  await world.advance(130);
  for (let times = 0; times < 3; times += 1) {
    await world.reconcile();
    await world.drain();
    await world.advance(30);
  }
  return (await world.view(runId)).status;
}

describe("a claim whose answer was lost", () => {
  test("is over by its worker's word, once the ledger answers, and its run goes on", async () => {
    let away = 3;
    const taken: typeof ledger.deliveries.taken = (...args) =>
      (away -= 1) > 0 ? Promise.reject(lost()) : ledger.deliveries.taken(...args);
    const runId = await claimedUnheard({ ledger: deaf({ taken }) });
    await until("its end", async () => (await actsUntil(runId)) !== null);
    expect(await lapse(runId)).toBe("DONE");
  });

  test("was judged as lost before: what its run waits for is acknowledged", async () => {
    const held = Promise.withResolvers<void>();
    const taken: typeof ledger.deliveries.taken = async (...args) => {
      await held.promise;
      return ledger.deliveries.taken(...args);
    };
    const runId = await claimedUnheard({ ledger: deaf({ taken }) });
    expect(await lapse(runId)).toBe("COMPLETING");
    held.resolve();
    await until(
      "the word",
      async () =>
        (await db.admin("select from ghouls.containment_items where acknowledged_by = 'worker'")).length > 0,
    );
    expect(await lapse(runId)).toBe("DONE");
  });

  test("is left to the record of its process's end, where that is told to end", async () => {
    const draining = new AbortController();
    const taken = () => {
      draining.abort();
      return Promise.reject(lost());
    };
    const runId = await claimedUnheard({ ledger: deaf({ taken }), draining: draining.signal });
    await until("the warning", () =>
      Promise.resolve(world.logged.some(({ message }) => message.includes("claims without an answer"))),
    );
    expect(await actsUntil(runId)).toBeNull();
  });

  test("is over by time alone where something ends its process by force", async () => {
    const taken = () => Promise.reject(new Error("not asked"));
    const runId = await claimedUnheard({ ledger: deaf({ taken }) }, true);
    expect(await actsUntil(runId)).not.toBeNull();
  });
});
