import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import { sha256 } from "@ghouls/core";
import { endingsPass } from "@ghouls/engine";
import * as z from "zod";
import { roundOf } from "../support/passes.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** What is kept of a run for people: copies of its steps, and its terminal record. */

const hooks = { fault: (_point: string, _detail: string): void | Promise<void> => undefined };
const LONG = "x".repeat(70_000);

const steps = workflow({
  name: "steps",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    await ctx.step("first", () => ({ secret: 1 }));
    await ctx.step("nothing", () => undefined);
    await ctx.step("long", () => LONG);
    await ctx.step("fails", () => Promise.reject(new Error("no")), { tries: 1 }).catch(() => undefined);
    return "done";
  },
});

const sleepy = workflow({
  name: "sleepy",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    await ctx.step("before", () => "b");
    await ctx.sleep("1h", { name: "night" });
    await ctx.step("after", () => "a");
    return "woke";
  },
});

const asks = workflow({
  name: "asks",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    const said = await ctx.consent("ship", { deciders: ["role:operator"], requesterMayDecide: true });
    return said.outcome;
  },
});

const world = await testWorld({
  workflows: [steps, sleepy, asks],
  faults: (point, detail) => hooks.fault(point, detail),
});
const { db, ledger } = world;
const endings = endingsPass({ ledger });

beforeEach(async () => {
  hooks.fault = () => undefined;
  world.logged.length = 0;
  await world.reset();
});

const copiesOf = (runId: string) =>
  db.admin(
    `select ordinal, call, outcome, tries, body_text, body_digest, completed_at >= started_at as in_order
     from ghouls.evidence where run_id = $1 and class = 'durable_best_effort' order by ordinal`,
    [runId],
  );
const recordOf = async (runId: string) => {
  const found = await db.admin<{ record_text: string; record_digest: string }>(
    "select record_text, record_digest from ghouls.terminal_records where run_id = $1",
    [runId],
  );
  expect(found.length).toBeLessThan(2);
  return found[0];
};
const textNow = async (runId: string) => {
  const [row] = await db.admin<{ text: string }>(
    "select ghouls.terminal_text(tenant_id, run_id) as text from ghouls.runs where run_id = $1",
    [runId],
  );
  return row?.text;
};
const actsOf = async (runId: string) =>
  (
    await db.admin<{ act: string }>("select act from ghouls.end_acts where run_id = $1 order by act", [runId])
  ).map(({ act }) => act);
const warnings = () => world.logged.filter(({ level }) => level === "warn").map(({ message }) => message);
const LOST = "copies of steps were lost: the journal has what they are of";

describe("copies of steps", () => {
  test("are written in order, with the stored text up to 64 KiB, and its digest always", async () => {
    const { runId } = await world.submit("steps");
    await world.drain();
    const copies = await copiesOf(runId);
    expect(copies).toMatchObject([
      { ordinal: 1, outcome: "ok", tries: 1, body_text: '{"secret":1}', body_digest: sha256('{"secret":1}') },
      { ordinal: 2, outcome: "ok", body_text: null, body_digest: null },
      { ordinal: 3, outcome: "ok", body_text: null, body_digest: sha256(JSON.stringify(LONG)) },
      { ordinal: 4, outcome: "error", tries: 1 },
    ]);
    expect(copies.map((copy) => copy["in_order"])).toEqual([true, true, true, true]);
    const journal = await db.admin(
      "select ordinal, result_digest as body_digest from ghouls.journal where run_id = $1 order by ordinal",
      [runId],
    );
    expect(copies).toMatchObject(journal);
    expect(warnings()).not.toContain(LOST);
  });

  test("of a hop that parks are written at its end", async () => {
    const { runId } = await world.submit("sleepy");
    await world.drain();
    expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
    expect(await copiesOf(runId)).toMatchObject([{ ordinal: 1, body_text: '"b"' }]);
  });

  test("of one entry are one row, whoever writes them again", async () => {
    const { runId } = await world.submit("steps");
    await world.drain();
    const [delivery] = await db.admin<{ token: string }>(
      "select token from ghouls.deliveries where run_id = $1",
      [runId],
    );
    const claim = { tenantId: SOMEBODY.tenantId, runId, seq: 1, token: delivery?.token ?? "" };
    const at = new Date(0);
    const copy = { claim, call: "c", outcome: "ok", tries: 9, startedAt: at, completedAt: at } as const;
    const again = [1, 7].map((ordinal) => ({ ...copy, ordinal, bodyText: null, bodyDigest: null }));
    expect(await ledger.evidence.copySteps(again)).toBe(1);
    expect(await ledger.evidence.copySteps(again)).toBe(0);
    expect((await copiesOf(runId)).map((one) => [one["ordinal"], one["tries"]])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [7, 9],
    ]);
  });

  test("that fail are counted, warned of once, and touch nothing of the run", async () => {
    hooks.fault = (point, detail) => {
      if (point === "ledger.before-statement" && detail === "evidence.copy-steps")
        throw Object.assign(new Error("no"), { code: "23514" });
    };
    const { runId } = await world.submit("steps");
    await world.drain();
    expect((await world.view(runId)).status).toBe("DONE");
    expect(await copiesOf(runId)).toEqual([]);
    expect(world.logged.filter(({ message }) => message === LOST)).toMatchObject([{ fields: { count: 4 } }]);
    expect(await recordOf(runId)).toBeDefined();
  });

  test("that hang keep neither the settle nor the other acts", async () => {
    const held = Promise.withResolvers<void>();
    let leftMs = 900_000;
    hooks.fault = (point, detail) => {
      // Its invocation leaves little to what follows the end.
      if (point === "worker.after-settle") leftMs = 1_300;
      if (point === "ledger.before-statement" && detail === "evidence.copy-steps") return held.promise;
      return undefined;
    };
    const { runId } = await world.submit("steps");
    await world.deliver([`run:${runId}:1`], {}, { limitMs: 900_000, remainingMs: () => leftMs });
    expect((await world.view(runId)).status).toBe("DONE");
    expect(world.logged.filter(({ message }) => message === LOST)).toMatchObject([{ fields: { count: 4 } }]);
    expect(await recordOf(runId)).toBeDefined();
    held.resolve();
    expect(world.exits).toEqual([]);
  });
});

describe("the terminal record", () => {
  test("is written by the worker that ended the run, once, with the digest of its exact text", async () => {
    const { runId } = await world.submit("steps", { a: 1 });
    await world.drain();
    const record = await recordOf(runId);
    expect(record?.record_digest).toBe(sha256(record?.record_text ?? ""));
    expect(record?.record_text).toBe(await textNow(runId));
    expect(await actsOf(runId)).toEqual(["seal"]);
    const said = JSON.parse(record?.record_text ?? "") as Record<string, unknown>;
    expect(said).toMatchObject({
      format: 1,
      run: runId,
      tenant: "acme",
      status: "DONE",
      journal: { length: 4, entries: 4 },
      bodies: { input: sha256('{"a":1}'), output: sha256('"done"'), error: null },
      deliveries: [[1, "admitted", "SETTLED", "done", "worker-1"]].map((one) => expect.arrayContaining(one)),
    });
    expect(record?.record_text).not.toContain("secret");
  });

  test("goes with the checkpoints of a run that has parked", async () => {
    const { runId } = await world.submit("sleepy");
    await world.drain();
    await world.later(3_700);
    expect((await world.view(runId)).status).toBe("DONE");
    expect(await db.admin("select from ghouls.checkpoints where run_id = $1", [runId])).toEqual([]);
    expect(await actsOf(runId)).toEqual(["seal"]);
    expect(await recordOf(runId)).toBeDefined();
  });

  test("of a run that an operator has ended is written by the pass, due at once", async () => {
    const { runId } = await world.submit("sleepy");
    await world.drain();
    await world.control.cancel(SOMEBODY, runId, "enough");
    expect((await world.view(runId)).status).toBe("CANCELLED");
    expect(await actsOf(runId)).toEqual(["checkpoints", "record", "seal"]);
    expect(await roundOf(endings)).toEqual([
      [`${runId} checkpoints`, "repaired"],
      [`${runId} record`, "repaired"],
    ]);
    expect((await recordOf(runId))?.record_text).toBe(await textNow(runId));
    expect(
      await db.admin(
        "select pass, rule, after_state from ghouls.repairs where run_id = $1 and pass = 'endings' order by rule",
        [runId],
      ),
    ).toEqual([
      { pass: "endings", rule: "ended with its checkpoints: delete them", after_state: "1 deleted" },
      { pass: "endings", rule: "ended without its terminal record: write it", after_state: "written" },
    ]);
  });

  test("says the same whatever the settings of a session are", async () => {
    const { runId } = await world.submit("sleepy");
    await world.drain();
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.later(10);
    const client = await db.client("admin");
    const texts = new Set<unknown>();
    for (const settings of [
      "set timezone = 'UTC'; set datestyle = 'ISO'; set extra_float_digits = 1; set intervalstyle = 'postgres'",
      "set timezone = 'Asia/Kathmandu'; set datestyle = 'German'; set extra_float_digits = -15; set bytea_output = 'escape'",
    ]) {
      await client.query(settings);
      const { rows } = await client.query<{ text: string }>(
        "select ghouls.terminal_text('acme', $1) as text",
        [runId],
      );
      texts.add(rows[0]?.text);
    }
    expect(texts.size).toBe(1);
    expect([...texts][0]).toContain(runId);
  });

  test("has none before the end", async () => {
    const { runId } = await world.submit("sleepy");
    await world.drain();
    expect(await textNow(runId)).toBeNull();
    expect(await ledger.evidence.carryOut({ tenantId: "acme", runId }, "record")).toBe(false);
    expect(await ledger.evidence.carryOut({ tenantId: "acme", runId }, "checkpoints")).toBe(false);
    expect(await recordOf(runId)).toBeUndefined();
    expect(await db.admin("select from ghouls.checkpoints where run_id = $1", [runId])).toHaveLength(1);
  });

  test("of two that write it at once is one", async () => {
    hooks.fault = (point) => {
      if (point === "worker.before-record") throw new Error("no");
    };
    const { runId } = await world.submit("steps");
    await world.drain();
    expect(await actsOf(runId)).toEqual(["record", "seal"]);
    expect(warnings()).toEqual(["what follows the end of a run could not be done; the reconciler does it"]);
    hooks.fault = () => undefined;
    const key = { tenantId: "acme", runId };
    const done = await Promise.all([1, 2, 3, 4].map(() => ledger.evidence.carryOut(key, "record")));
    expect(done.filter(Boolean)).toHaveLength(1);
    expect(await recordOf(runId)).toBeDefined();
  });

  test("cannot be written over, or deleted, by the application", async () => {
    const { runId } = await world.submit("steps");
    await world.drain();
    const client = await db.client("application");
    for (const act of [
      "update ghouls.terminal_records set record_text = ''",
      "delete from ghouls.terminal_records",
      "update ghouls.seals set digest = digest",
      "delete from ghouls.seals",
    ])
      await expect(client.query(act)).rejects.toMatchObject({ code: "42501" });
    expect(await recordOf(runId)).toBeDefined();
  });
});

describe("nothing that may come after the end changes what the record says:", () => {
  const ended = async (name = "asks") => {
    const { runId } = await world.submit(name);
    await world.drain();
    return runId;
  };
  const cancelled = async () => {
    const runId = await ended();
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.later(10);
    await roundOf(endings);
    return runId;
  };
  const key = (runId: string) => ({ tenantId: "acme", runId });

  test.each<[string, (runId: string) => Promise<unknown>]>([
    [
      "a quarantine and its clear, by an operator",
      async (runId) => {
        await db.admin(
          "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'x' where run_id = $1",
          [runId],
        );
        expect(await textNow(runId)).toBe((await recordOf(runId))?.record_text);
        const cleared = await ledger.runs.clear(key(runId), { actor: "user:ada", reason: "seen" }, 15);
        expect(cleared).toMatchObject({ cleared: true });
        expect(await db.admin("select after_end from ghouls.audit where run_id = $1", [runId])).toEqual([
          { after_end: true },
        ]);
      },
    ],
    [
      "attention",
      (runId) =>
        db.admin(
          "update ghouls.runs set attention_at = ghouls.clock(), attention_reason = 'x' where run_id = $1",
          [runId],
        ),
    ],
    [
      "a word of an operator whose clock is early",
      async (runId) => {
        await db.admin("update ghouls.test_clock set ahead = ahead - interval '1 day'");
        await db.admin(
          `insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
           values ('acme', $1, gen_random_uuid(), 'user:ada', 'redrive', 's', 'r', ghouls.clock())`,
          [runId],
        );
        await db.admin("update ghouls.test_clock set ahead = ahead + interval '1 day'");
      },
    ],
    [
      "a redrive",
      async (runId) => {
        const redriven = await ledger.runs.redrive(
          key(runId),
          {
            runId: randomUUID(),
            workflow: { version: 1, digest: "asks@1" },
            onWorkerLoss: "resume",
            deadlineMs: null,
            requestedBy: "user:ada",
            requestedRoles: [],
            reason: "again",
          },
          { publisherGraceSeconds: 15 },
        );
        expect(redriven).toMatchObject({ kind: "redriven" });
      },
    ],
    [
      "a decision that comes too late",
      async (runId) => {
        const { consents } = await world.consents.list("acme", {}, { limit: 9 });
        const one = consents.find((consent) => consent.runId === runId);
        await expect(
          world.consents.decide(SOMEBODY, one?.consentId ?? "", {
            verdict: "grant",
            digest: one?.digest ?? "",
          }),
        ).rejects.toMatchObject({ code: "consent_closed" });
      },
    ],
    [
      "a signal that comes too late",
      (runId) =>
        expect(
          world.signals.send(SOMEBODY, runId, { name: "s", payloadText: undefined }),
        ).rejects.toMatchObject({
          code: "run_ended",
        }),
    ],
    [
      "the end of a worker that its supervisor reports late",
      async (runId) => {
        await ledger.deliveries.recordWorkerEnd({
          worker: "worker-1",
          how: "SIGKILL",
          actsMarginSeconds: 60,
        });
        await db.admin(
          "update ghouls.deliveries set worker_ended_at = ghouls.clock(), worker_end = 'x', publications = 9 where run_id = $1",
          [runId],
        );
      },
    ],
    [
      "a fenced worker's late result, and its word that it has ended",
      async (runId) => {
        const [claim] = await db.admin<{ seq: number; token: string }>(
          "select seq, token from ghouls.deliveries where run_id = $1 and token is not null",
          [runId],
        );
        const held = { ...key(runId), seq: claim?.seq ?? 0, token: claim?.token ?? "" };
        await ledger.evidence.reject(held, {
          call: "c",
          outcome: "ok",
          bodyText: "1",
          bodyDigest: sha256("1"),
        });
        expect(await ledger.items.acknowledgeWorker(held)).toBeNull();
      },
    ],
    ["the deletion of its checkpoints", (runId) => ledger.evidence.carryOut(key(runId), "checkpoints")],
  ])("%s", async (_, happens) => {
    const runId = await cancelled();
    const before = await recordOf(runId);
    expect(before?.record_text).toBe(await textNow(runId));
    await happens(runId);
    expect(await textNow(runId)).toBe(before?.record_text);
    expect(await recordOf(runId)).toEqual(before);
  });

  test("but an operator's word before the end is in it", async () => {
    const runId = await ended("sleepy");
    await ledger.runs.pause(key(runId), { actor: "user:ada", reason: "wait" });
    await ledger.runs.unpause(key(runId), { actor: "user:bob", reason: "go on" });
    await world.control.cancel(SOMEBODY, runId, "enough");
    await world.later(10);
    await roundOf(endings);
    const { acts } = JSON.parse((await textNow(runId)) ?? "") as { acts: string[][] };
    expect(acts.map(([actor, act]) => [actor, act])).toEqual([
      ["user:ada", "pause"],
      ["user:bob", "unpause"],
    ]);
  });
});
