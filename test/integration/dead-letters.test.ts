import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { ensureQueues, openSqs } from "@ghouls/aws";
import { noFaults, type FaultInjector } from "@ghouls/core";
import { deadLettersPass } from "../../packages/engine/src/reconciler/passes/dead-letters.ts";
import { runPasses } from "../../packages/engine/src/reconciler/frame.ts";
import type { Outcome, Turn } from "../../packages/engine/src/reconciler/pass.ts";
import { CREDENTIALS } from "../support/queue.ts";
import { blocked } from "../support/wait.ts";
import { testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    await ctx.sleep("1h");
    return "hello";
  },
});
const world = await testWorld({ workflows: [hello] });
const connection = { region: "us-east-1", endpoint: world.sqs.endpoint, credentials: CREDENTIALS };
// As a deployment has them, but for a queue that gives up at once.
const [address, others] = (
  await ensureQueues(
    connection,
    ["runs", "rites"].map((name) => ({ name, visibilitySeconds: 30, maxReceiveCount: 1 })),
  )
).values();
const deadUrl = address?.deadLetterUrl ?? "";
const othersUrl = others?.deadLetterUrl ?? "";
const deadLetters = openSqs({
  ...connection,
  queueUrls: { runs: deadUrl, rites: othersUrl, gone: `${deadUrl}-gone` },
  faults: noFaults,
  random: () => 0,
});
afterAll(() => deadLetters.close());

const turn: Turn = { signal: new AbortController().signal, withinMs: () => 10_000 };
const passOf = (faults: FaultInjector = noFaults, names: readonly string[] = ["runs"]) =>
  deadLettersPass({
    ledger: world.ledger,
    deadLetters: { queue: deadLetters, names },
    faults,
    log: world.deps.log,
  });

/** One look, and a turn for each that it has found. */
async function round(faults?: FaultInjector): Promise<[string, Outcome["kind"]][]> {
  const pass = passOf(faults);
  const { found } = await pass.find({ limit: 100 });
  const outcomes = await pass.repair(found, turn);
  return found.map((due, index) => [pass.describe(due).rule, outcomes[index]?.kind ?? "left"]);
}

async function send(body: string, url = deadUrl): Promise<void> {
  const answer = await fetch(world.sqs.endpoint, {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
    body: JSON.stringify({ QueueUrl: url, MessageBody: body }),
  });
  expect(answer.status).toBe(200);
}
const waiting = async (): Promise<string[]> => {
  const messages = await deadLetters.receive("runs", { max: 10, waitSeconds: 0, visibilitySeconds: 0 });
  return messages.map(({ body }) => body).toSorted();
};
const empty = async () => {
  for (;;) {
    const messages = await deadLetters.receive("runs", { max: 10, waitSeconds: 0 });
    if (messages.length === 0) return;
    for (const { receiptHandle } of messages) await deadLetters.delete("runs", receiptHandle);
  }
};
const repairs = () =>
  world.db.admin(
    "select run_id, pass, rule, before_state, after_state from ghouls.repairs where pass = 'dead-letters'",
  );

beforeEach(async () => {
  await world.reset();
  await empty();
  await world.db.admin("truncate ghouls.repairs, ghouls.dead_letters");
  world.logged.length = 0;
});

describe("dead letters", () => {
  test("that their queue has given up on are published anew, and their runs go on: none has failed", async () => {
    const { runId } = await world.submit("hello");
    // Two receives without a word: throttling does that, and give-backs.
    for (const _ of [1, 2])
      await world.queue.receive("runs", { max: 1, waitSeconds: 0, visibilitySeconds: 0 });
    expect(await waiting()).toEqual([`run:${runId}:1`]);
    await world.db.admin(
      "update ghouls.deliveries set next_publication_at = ghouls.clock() + interval '1 hour' where run_id = $1",
      [runId],
    );
    expect(await round()).toEqual([["dead letter of a delivery that waits: publish anew", "repaired"]]);
    expect(await waiting()).toEqual([]);
    await world.reconcile();
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    expect(await repairs()).toMatchObject([
      { run_id: runId, pass: "dead-letters", before_state: "delivery 1 PENDING, published 1 times" },
    ]);
  });

  test("of what is over, carried or waits for its time are of no use, and go; nothing of the run changes", async () => {
    const { runId } = await world.submit("hello");
    await world.drain();
    const before = await world.view(runId);
    await send(`run:${runId}:1`);
    await send(`wake:${randomUUID()}`);
    expect((await round()).map(([rule]) => rule).toSorted()).toEqual([
      "dead letter that is of no use (settled): delete",
      "dead letter that is of no use (timer): delete",
    ]);
    expect(await waiting()).toEqual([]);
    expect(await world.view(runId)).toEqual(before);
    expect(await repairs()).toEqual([]);
  });

  test("that name nothing of this ledger stay, are told of once, and are forgotten when they are gone", async () => {
    const foreign = `run:${randomUUID()}:1`;
    await send(foreign);
    await send("hunter2");
    for (const _ of [1, 2]) expect((await round()).map(([, outcome]) => outcome)).toEqual(["left", "left"]);
    expect(await waiting()).toEqual(["hunter2", foreign].toSorted());
    const kept = "select queue, reason, bytes from ghouls.dead_letters order by reason";
    expect(await world.db.admin(kept)).toEqual([
      { queue: "runs", reason: "poison", bytes: 7 },
      { queue: "runs", reason: "unknown", bytes: foreign.length },
    ]);
    expect(world.logged.filter(({ level }) => level === "error")).toHaveLength(2);
    expect(JSON.stringify(world.logged)).not.toContain("hunter2");
    // An idle deployment looks once an hour.
    for (const _ of [1, 2]) {
      await world.advance(3_700);
      await round();
    }
    expect(world.logged.filter(({ level }) => level === "error")).toHaveLength(2);
    await empty();
    await world.advance(10_900);
    await round();
    expect(await world.db.admin(kept)).toEqual([]);
  });

  test("whose reconciler dies between the two commits come again, and are repaired once", async () => {
    const { runId } = await world.submit("hello");
    await world.db.admin(
      "update ghouls.deliveries set next_publication_at = ghouls.clock() + interval '1 hour' where run_id = $1",
      [runId],
    );
    await send(`run:${runId}:1`);
    const dies: FaultInjector = (point) => {
      if (point === "dead-letters.after-repair") throw new Error("killed");
    };
    await expect(round(dies)).rejects.toThrow("killed");
    expect(await repairs()).toHaveLength(1);
    // What it had received is there again when its time is over; a copy stands in for that.
    await send(`run:${runId}:1`);
    await Promise.all([round(), round(), round()]);
    expect(await repairs()).toHaveLength(1);
    expect(await waiting()).toEqual([]);
  });

  test("of a delivery that another one makes due while they wait for its lock have no repair of their own", async () => {
    const { runId } = await world.submit("hello");
    await world.db.admin(
      "update ghouls.deliveries set next_publication_at = ghouls.clock() + interval '1 hour' where run_id = $1",
      [runId],
    );
    const other = await world.db.client("admin");
    await other.query("begin");
    await other.query("select from ghouls.deliveries where run_id = $1 for update", [runId]);
    const late = world.ledger.deadLetters.republish({ runId, enqueueSeq: 1 });
    await blocked(world.db);
    // Later than the statement that waits has begun.
    await other.query("update ghouls.deliveries set next_publication_at = ghouls.clock() where run_id = $1", [
      runId,
    ]);
    await other.query("commit");
    expect(await late).toBe(false);
    expect(await repairs()).toEqual([]);
  });

  test("of one queue wait neither for a queue that cannot be read nor for what another keeps", async () => {
    for (let n = 0; n < 8; n += 1) await send(`run:${randomUUID()}:1`);
    const { runId } = await world.submit("hello");
    await world.drain();
    await send(`run:${runId}:1`, othersUrl);
    const reports = await runPasses([passOf(noFaults, ["gone", "runs", "rites"])], {
      ...world.deps,
      pageSize: 6,
      pageBudgetMs: 100,
      remainingMs: () => 60_000,
    });
    expect(reports.get("dead-letters")).toMatchObject({ pages: 1, found: 4, left: 3, failed: 1 });
    expect(await deadLetters.receive("rites", { max: 10, waitSeconds: 0 })).toEqual([]);
    expect(await world.db.admin("select owner, reason from ghouls.degraded_owners")).toMatchObject([
      { owner: "queue gone" },
    ]);
  });
});
