import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isTerminalRun, sha256, type Claim, type RunStatus } from "@ghouls/core";
import type { EmptyDatabase } from "../support/empty-database.ts";
import { testQueue } from "../support/queue.ts";
import { ask } from "../support/reservations.ts";
import { ENTRY } from "../support/whole-life.ts";
import { NEWEST, frozenEngine, isFrozen, predecessorOf } from "./engines.ts";
import { stepsOf, workflows } from "./workflows.ts";
import { advance, databaseAt, inhabit, type Inhabitant } from "./world.ts";

/**
 * Expand and contract: while a deploy goes on, the engine before a migration works on the schema after it, beside the new
 * one, with runs of both. What it cannot do it must leave to the new one, without harm. A deploy may skip releases, so
 * every frozen engine is held to it on the newest schema.
 */

const numbers = Array.from({ length: NEWEST.number - 1 }, (_, index) => index + 2);
const earlier = [...new Set(numbers.map(predecessorOf))];

/** The migration with which an engine knows `onWorkerLoss` and containment. */
const CONTAINMENT = 2;
/** The migration with which an engine writes the record of an end itself. */
const EVIDENCE = 18;

test.each(numbers)(
  "the engine before migration %i is frozen: run `npm run freeze` before you add one",
  (number) => {
    expect(isFrozen(predecessorOf(number))).toBe(true);
  },
);

/** What the step "one" leaves in the journal. */
const ONE = { ...ENTRY, name: "one", resultText: '"one"', resultDigest: sha256('"one"'), resultBytes: 5 };

/** Longer than any lease, and than anything that a lost worker had sent. */
const LONG = 1_000;
const queue = (await testQueue()).open();

describe.each(earlier)("on the newest schema, engine %i beside the newest", (before) => {
  const knowsContainment = before >= CONTAINMENT;
  let db: EmptyDatabase;
  let old: Inhabitant;
  let now: Inhabitant;
  const made: string[] = [];

  beforeAll(async () => {
    db = await databaseAt(NEWEST.number);
    old = inhabit(await frozenEngine(before), db, queue, workflows);
    now = inhabit(NEWEST, db, queue, workflows);
  });
  afterAll(async () => {
    await old.close();
    await now.close();
  });

  async function submitted(by: Inhabitant, name = "resumes", extra: Record<string, unknown> = {}) {
    const runId = await by.submit(name, extra);
    made.push(runId);
    return runId;
  }
  /** Both engines read the same of it. */
  async function statusOf(runId: string): Promise<RunStatus> {
    const [one, other] = [await old.view(runId), await now.view(runId)];
    expect(one).toMatchObject({ status: other.status, steps: other.steps, enqueueSeq: other.enqueueSeq });
    expect(one.output).toEqual(other.output);
    return other.status;
  }
  /** Lets the newest engine repair and carry until the run has ended. */
  async function finish(runId: string): Promise<RunStatus> {
    for (let round = 0; round < 6; round += 1) {
      const { status, enqueueSeq } = await now.view(runId);
      if (isTerminalRun(status)) return statusOf(runId);
      if (status === "QUEUED") await now.deliver(runId, enqueueSeq);
      await advance(db, LONG);
      await now.reconcile();
    }
    return statusOf(runId);
  }
  /** Parks a claimed run on a job that its service has. */
  async function delegated(claim: Claim): Promise<string> {
    const [attemptId, armId] = [randomUUID(), randomUUID()];
    const attempt = {
      attemptId,
      service: "signer",
      adapter: "test",
      adapterVersion: "1",
      serviceDigest: "d",
      traits: { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds: 5 },
      requestText: "{}",
      storedDigest: sha256("{}"),
      requestDigest: "d",
      idempotencyKey: `ghouls-${attemptId}`,
      pollSeconds: 30,
      heartbeatSeconds: null,
      deadlineSeconds: null,
    } as const;
    const call = { epoch: 0, scope: "", kind: "delegate", name: "sign", nth: 1 } as const;
    const standing = [{ call, armId, owner: "delegate", dueAt: null, tries: null, attempt }] as const;
    const checkpoint = { workflowDigest: "resumes@1", journalLength: 0, journalDigest: "d" };
    await now.ledger.deliveries.parkIfClaimed(claim, checkpoint, standing, { publisherGraceSeconds: 15 });
    const { tenantId, runId } = claim;
    const sent = { token: randomUUID(), submitter: "w", sendsForSeconds: 60, callbackDigest: null };
    await now.ledger.attempts.claimSubmission(
      { tenantId, runId, attemptId, status: "DEFINED", token: null },
      { ...sent, callbackSeconds: 60, nextLookSeconds: 15 },
    );
    return attemptId;
  }
  /** A run of the newest engine that lost its worker after a step, and is QUEUED again with a worker item open. */
  async function recovered(): Promise<string> {
    const runId = await submitted(now);
    const claim = await now.claim(runId);
    await now.ledger.journal.appendIfClaimed(claim, ONE);
    await advance(db, 130);
    await now.reconcile();
    return runId;
  }

  describe.each([
    ["the old one", "the newest", () => [old, now] as const],
    ["the newest", "the old one", () => [now, old] as const],
  ])("a run that %s made", (_maker, _other, pair) => {
    test("QUEUED is carried to DONE by the other", async () => {
      const [maker, other] = pair();
      const runId = await submitted(maker);
      expect(await other.deliver(runId, 1)).toMatchObject({ done: true, reason: "DONE" });
      expect(await statusOf(runId)).toBe("DONE");
      expect(stepsOf(runId)).toEqual(["one", "two"]);
    });

    test("HELD is not carried, is released by the other, and then carried by its maker", async () => {
      const [maker, other] = pair();
      const runId = await submitted(maker, "resumes", { held: true });
      expect(await other.deliver(runId, 1)).toMatchObject({ done: false, reason: "held" });
      expect(await other.ledger.deliveries.releaseIfHeld({ tenantId: "acme", runId }, 0)).toBe(true);
      expect(await maker.deliver(runId, 1)).toMatchObject({ reason: "DONE" });
    });

    test("RUNNING under a live claim is left to its maker by the other, which settles it", async () => {
      const [maker, other] = pair();
      const runId = await submitted(maker);
      const claim = await maker.claim(runId);
      expect(await other.deliver(runId, 1)).toMatchObject({ done: false, reason: "claimed" });
      await other.reconcile();
      expect(await maker.ledger.journal.appendIfClaimed(claim, ONE)).not.toBeNull();
      const done = { status: "DONE", outputText: "1", outputDigest: sha256("1") } as const;
      expect(await maker.ledger.deliveries.settleIfClaimed(claim, done)).toMatchObject({ settled: true });
      expect(await statusOf(runId)).toBe("DONE");
    });

    test("FAILED and DONE are read by the other, and its message is let go", async () => {
      const [maker, other] = pair();
      const failed = await submitted(maker, "fails");
      await maker.deliver(failed, 1);
      expect(await statusOf(failed)).toBe("FAILED");
      expect(await other.deliver(failed, 1)).toMatchObject({ done: true, reason: "terminal" });
      const done = await submitted(maker);
      await maker.deliver(done, 1);
      expect(await other.deliver(done, 1)).toMatchObject({ done: true, reason: "terminal" });
      expect(await statusOf(done)).toBe("DONE");
      expect(stepsOf(done)).toEqual(["one", "two"]);
    });

    test("is one run under one key, whichever of both is asked again", async () => {
      const [maker, other] = pair();
      const runId = await submitted(maker);
      const row = await db.admin<{ request_digest: string }>(
        "select request_digest from ghouls.runs where run_id = $1",
        [runId],
      );
      const key = { tenantId: "acme", idempotencyKey: runId };
      await db.admin("update ghouls.runs set idempotency_key = $1 where run_id = $1::uuid", [runId]);
      const [found] = await other.ledger.runs.byKey([key]);
      expect(found).toMatchObject({ runId, requestDigest: row[0]?.request_digest });
      expect(await finish(runId)).toBe("DONE");
    });
  });

  test("a claim of the old engine that lapses is judged by the newest: it goes on only where resume was said", async () => {
    const runId = await submitted(old);
    const claim = await old.claim(runId);
    await advance(db, 130);
    await now.reconcile();
    // Engine 1 did not write down what the author had said.
    expect(await statusOf(runId)).toBe(knowsContainment ? "QUEUED" : "FAILING");
    // The old worker comes back late: nothing of it is written.
    expect(await old.ledger.journal.appendIfClaimed(claim, ENTRY)).toBeNull();
    const done = { status: "DONE", outputText: "1", outputDigest: sha256("1") } as const;
    expect(await old.ledger.deliveries.settleIfClaimed(claim, done)).toMatchObject({ settled: false });
    expect(await finish(runId)).toBe(knowsContainment ? "DONE" : "FAILED");
  });

  test("a quarantine of the old engine stands before the newest, and the other way round", async () => {
    for (const [maker, other] of [
      [old, now],
      [now, old],
    ] as const) {
      const runId = await submitted(maker);
      await maker.ledger.runs.quarantineIfClaimed(await maker.claim(runId), "by a test");
      expect(await other.deliver(runId, 2)).toMatchObject({ done: true, reason: "quarantined" });
      expect(await statusOf(runId)).toBe("QUEUED");
      await db.admin(
        `with run as (update ghouls.runs set quarantined_at = null, quarantine_reason = null where run_id = $1 returning run_id)
           update ghouls.deliveries d set next_publication_at = ghouls.clock() from run where d.run_id = run.run_id and d.seq = 2`,
        [runId],
      );
      expect(await other.deliver(runId, 2)).toMatchObject({ reason: "DONE" });
    }
  });

  test("a run that the newest handed over is carried on by the old engine from its journal", async () => {
    const runId = await submitted(now);
    const drain = new AbortController();
    const handed = await now.deliver(runId, 1, {
      draining: drain.signal,
      faults: (point) => (point === "worker.after-step" ? drain.abort() : undefined),
    });
    expect(handed).toMatchObject({ done: true });
    expect(await now.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    expect(await old.deliver(runId, 2)).toMatchObject({ reason: "DONE" });
    expect(stepsOf(runId)).toEqual(["one", "two"]);
    expect(await statusOf(runId)).toBe("DONE");
  });

  test("a run that the newest gave back for want of its workflow is carried by the old engine", async () => {
    const runId = await submitted(now);
    const registry = new NEWEST.engine.Registry([]);
    expect(await now.deliver(runId, 1, { registry })).toMatchObject({ done: true, reason: "handed_over" });
    expect(await statusOf(runId)).toBe("QUEUED");
    expect(await old.deliver(runId, 2)).toMatchObject({ done: false, reason: "early" });
    await advance(db, 35);
    expect(await old.deliver(runId, 2)).toMatchObject({ reason: "DONE" });
    expect(stepsOf(runId)).toEqual(["one", "two"]);
  });

  test("a recovered run cannot be ended by the old engine while its lost worker may act, and is by the newest", async () => {
    const runId = await recovered();
    expect(await now.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    // Engine 1 knows no containment: the schema refuses its DONE, its claim lapses, and the newest goes on from the journal.
    expect(await old.deliver(runId, 2)).toMatchObject({ done: knowsContainment });
    expect(await statusOf(runId)).toBe(knowsContainment ? "COMPLETING" : "RUNNING");
    expect(await finish(runId)).toBe("DONE");
    expect(stepsOf(runId)).toEqual(["two"]);
  });

  test.each([
    ["COMPLETING", "DONE"],
    ["FAILING", "FAILED"],
    ["CANCELLING", "CANCELLED"],
  ] as const)(
    "a run that is %s is left alone by the old engine, and ends with the newest",
    async (ending, end) => {
      let runId: string;
      let seq = 1;
      if (ending === "COMPLETING") {
        runId = await recovered();
        await now.deliver(runId, (seq = 2));
      } else {
        runId = await submitted(now, "ends");
        const claim = await now.claim(runId);
        if (ending === "FAILING") await advance(db, 130).then(() => now.reconcile());
        else await now.ledger.runs.cancel(claim, { actor: "user:ada", reason: "by a test" }, 60);
      }
      expect(await statusOf(runId)).toBe(ending);
      expect(await old.deliver(runId, seq)).toMatchObject({ done: true });
      await old.reconcile();
      expect(await statusOf(runId)).toBe(ending);
      expect(await finish(runId)).toBe(end);
      expect(await old.deliver(runId, seq)).toMatchObject({ done: true, reason: "terminal" });
    },
  );

  test.runIf(knowsContainment)(
    "a run whose job may still act is not ended by a cancel of the old engine, which knows no jobs",
    async () => {
      const runId = await submitted(now);
      const attemptId = await delegated(await now.claim(runId));
      const word = { actor: "user:ada", reason: "by a test" };
      expect(await old.ledger.runs.cancel({ tenantId: "acme", runId }, word, 60)).toMatchObject({
        cancelled: true,
      });
      expect(await statusOf(runId)).toBe("CANCELLING");
      await old.reconcile();
      expect(await statusOf(runId)).toBe("CANCELLING");
      const end = {
        status: "CANCELLED",
        by: "service",
        acknowledged: false,
        missed: false,
        nextLookSeconds: 0,
      } as const;
      const key = { tenantId: "acme", runId, attemptId };
      const settings = { publisherGraceSeconds: 15 };
      expect(await now.ledger.attempts.change(key, () => end, settings)).toMatchObject({
        ended: "CANCELLED",
      });
      expect(await statusOf(runId)).toBe("CANCELLED");
      expect((await now.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
    },
  );

  test.runIf(knowsContainment)(
    "a run that holds units is judged as lost and cancelled by the old engine, which knows none: they stay in use until its worker is over",
    async () => {
      await now.ledger.capacities.say({ gpu: 1 });
      for (const end of ["QUEUED", "CANCELLING"] as const) {
        const runId = await submitted(now);
        const claim = await now.claim(runId);
        expect(await now.ledger.reservations.takeIfClaimed(claim, ask())).toMatchObject({ kind: "held" });
        if (end === "QUEUED") await advance(db, 130).then(() => old.reconcile());
        else await old.ledger.runs.cancel(claim, { actor: "user:ada", reason: "by a test" }, 60);
        expect(await statusOf(runId)).toBe(end);
        const inUse = () => db.admin<{ run_id: string }>("select run_id from ghouls.units_in_use");
        expect(await inUse()).toEqual([{ run_id: runId }]);
        await advance(db, LONG);
        await old.reconcile();
        expect(await inUse()).toEqual([]);
        if (end === "QUEUED")
          await now.ledger.runs.cancel(claim, { actor: "user:ada", reason: "by a test" }, 60);
        expect(await finish(runId)).toBe("CANCELLED");
      }
    },
  );

  test.runIf(knowsContainment)(
    "a run whose steps can be undone is not ended by a cancel of the old engine, which undoes nothing",
    async () => {
      const runId = await submitted(now);
      const claim = await now.claim(runId);
      const call = { epoch: 0, scope: "", kind: "step", name: "pay", nth: 1 } as const;
      expect(await now.ledger.undos.startIfClaimed(claim, call, false)).toEqual({ again: false });
      await old.ledger.runs.cancel(claim, { actor: "user:ada", reason: "by a test" }, 60);
      await advance(db, LONG);
      await old.reconcile();
      expect(await statusOf(runId)).toBe("CANCELLING");
      const [item] = (await now.ledger.items.ofRun(claim)).filter(
        ({ acknowledgedAt }) => acknowledgedAt === null,
      );
      expect(item).toMatchObject({ kind: "undo" });
      const word = {
        kind: "undo",
        key: item?.key ?? "",
        by: "operator",
        words: "paid back by hand",
      } as const;
      expect(await now.ledger.items.acknowledge(claim, word)).toMatchObject({ ended: "CANCELLED" });
      expect(await statusOf(runId)).toBe("CANCELLED");
    },
  );

  test("a run that the old engine carries is cancelled by the newest: its late words change nothing", async () => {
    const runId = await submitted(old);
    const claim = await old.claim(runId);
    await now.ledger.runs.cancel(claim, { actor: "user:ada", reason: "by a test" }, 60);
    expect(await old.ledger.journal.appendIfClaimed(claim, ENTRY)).toBeNull();
    const done = { status: "DONE", outputText: "1", outputDigest: sha256("1") } as const;
    expect(await old.ledger.deliveries.settleIfClaimed(claim, done)).toMatchObject({
      settled: false,
      runStatus: "CANCELLING",
    });
    expect(await finish(runId)).toBe("CANCELLED");
  });

  test("the relay of either publishes what is due, once each", async () => {
    const runs = [await submitted(old), await submitted(now)];
    await advance(db, 20);
    await old.reconcile();
    const published = () =>
      db.admin<{ publications: number }>(
        "select publications from ghouls.deliveries where run_id = any($1::uuid[]) order by publications",
        [runs],
      );
    const before = (await published()).map((row) => row.publications);
    expect(before.every((count) => count > 0)).toBe(true);
    await now.reconcile();
    expect((await published()).map((row) => row.publications)).toEqual(before);
    for (const runId of runs) expect(await finish(runId)).toBe("DONE");
  });

  test("a run that the old engine has ended gets its record, and its place in a seal, by the newest", async () => {
    const runId = await submitted(old);
    await old.deliver(runId, 1);
    expect(await statusOf(runId)).toBe("DONE");
    const left = () => db.admin("select act from ghouls.end_acts where run_id = $1 order by act", [runId]);
    const itself = before >= EVIDENCE;
    expect(await left()).toEqual([...(itself ? [] : [{ act: "record" }]), { act: "seal" }]);
    await advance(db, 61);
    await now.reconcile();
    expect(await left()).toEqual([]);
    const records = await db.admin("select from ghouls.terminal_records where run_id = $1", [runId]);
    expect(records).toHaveLength(1);
    expect((await now.ledger.evidence.verify("doctor")).faults).toEqual([]);
  });

  // Last: it looks at all that the others have left.
  test("nothing of it is lost, every run has ended, and doctor finds nothing", async () => {
    const left = await db.admin<{ run_id: string; status: RunStatus }>(
      "select run_id, status from ghouls.runs",
    );
    expect(left.map((run) => run.run_id).toSorted()).toEqual(made.toSorted());
    expect(left.filter((run) => !isTerminalRun(run.status))).toEqual([]);
    expect((await now.ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
  });
});
