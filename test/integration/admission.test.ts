import { describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "ghouls";
import type { Codec } from "@ghouls/core";
import { waiting } from "../support/races.ts";
import { SOMEBODY, requestOf, testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ name: z.string() }),
  run: (_ctx, { name }) => Promise.resolve(`Hello, ${name}.`),
});
const newer = workflow({ ...shape(), version: 2, queue: "rites" });
const picky = workflow({
  ...shape(),
  name: "picky",
  input: z.unknown().refine(() => {
    throw new Error("the schema is broken");
  }),
});
function shape() {
  return {
    name: "hello",
    version: 1,
    onWorkerLoss: "resume",
    input: z.object({ name: z.string() }),
    run: () => Promise.resolve(2),
  } as const;
}

const world = await testWorld({
  workflows: [hello, newer, picky],
  route: ({ input }) =>
    typeof input === "object" && input !== null && "name" in input
      ? { workflow: "hello", queue: "rites", priority: 8 }
      : undefined,
});
const { db, admission } = world;

async function count(): Promise<{ runs: number; deliveries: number }> {
  const [row] = await db.admin<{ runs: number; deliveries: number }>(
    "select (select count(*)::integer from ghouls.runs) as runs, (select count(*)::integer from ghouls.deliveries) as deliveries",
  );
  return row as { runs: number; deliveries: number };
}

describe("one idempotency key", () => {
  test("asked by twenty callers at once is one run and twenty equal answers", async () => {
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.submit("hello", { name: "Ada" }, { key: "twenty" })),
    );
    expect(await count()).toEqual({ runs: before.runs + 1, deliveries: before.deliveries + 1 });
    expect(new Set(answers.map((answer) => JSON.stringify({ ...answer, created: true }))).size).toBe(1);
    expect(answers.filter((answer) => answer.created)).toHaveLength(1);
  });

  test("with another body, or another form of a number, is a conflict that names the key", async () => {
    await world.submit("hello", { name: "Ada" }, { key: "conflict" });
    await expect(world.submit("hello", { name: "Bob" }, { key: "conflict" })).rejects.toMatchObject({
      code: "idempotency_conflict",
      message: expect.stringContaining('"conflict"'),
    });
    await expect(
      world.submit("hello", { name: "Ada" }, { key: "conflict", priority: 1 }),
    ).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  test("of another tenant is another run", async () => {
    const request = requestOf({ workflow: "hello", input: { name: "x" } }, "shared");
    const [mine, other] = await Promise.all([
      admission.admit(SOMEBODY, request),
      admission.admit({ ...SOMEBODY, tenantId: "umbrella" }, request),
    ]);
    expect(mine.runId).not.toBe(other.runId);
    expect([mine.created, other.created]).toEqual([true, true]);
  });

  test("still names its run after the run has ended", async () => {
    const first = await world.submit("hello", { name: "Ada" }, { key: "ended", version: 1 });
    await world.drain();
    const again = await world.submit("hello", { name: "Ada" }, { key: "ended", version: 1 });
    expect(again).toMatchObject({ runId: first.runId, created: false, status: "DONE" });
  });

  test("that was committed and never published is published by whoever asks again", async () => {
    const first = await world.submit("hello", { name: "Ada" }, { key: "unpublished" });
    await db.admin("update ghouls.deliveries set published_at = null, publications = 0 where run_id = $1", [
      first.runId,
    ]);
    await world.submit("hello", { name: "Ada" }, { key: "unpublished" });
    const [row] = await db.admin("select publications from ghouls.deliveries where run_id = $1", [
      first.runId,
    ]);
    expect(row).toEqual({ publications: 1 });
  });
});

describe("what is chosen for a request", () => {
  test("the newest version, the named one, and the queue of its workflow", async () => {
    expect(await world.submit("hello", { name: "a" })).toMatchObject({
      workflow: { version: 2 },
      queue: "rites",
    });
    expect(await world.submit("hello", { name: "a" }, { version: 1 })).toMatchObject({
      workflow: { version: 1 },
      queue: "runs",
      priority: 5,
    });
    expect(
      await world.submit("hello", { name: "a" }, { version: 2, queue: "runs", priority: 0 }),
    ).toMatchObject({
      queue: "runs",
      priority: 0,
    });
  });

  test("a request that names none is the route's, or refused with the path", async () => {
    const routed = await admission.admit(SOMEBODY, requestOf({ input: { name: "a" } }));
    expect(routed).toMatchObject({ workflow: { name: "hello", version: 2 }, queue: "rites", priority: 8 });
    await expect(admission.admit(SOMEBODY, requestOf({ input: 7 }))).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path: "/workflow" }],
    });
  });
});

describe("bad input leaves nothing", () => {
  test.each([
    ["an unknown workflow", { workflow: "goodbye" }, "unknown_workflow"],
    ["an unknown version", { workflow: "hello", version: 9, input: { name: "a" } }, "unknown_workflow"],
    ["an unknown queue", { workflow: "hello", queue: "fast", input: { name: "a" } }, "unknown_queue"],
    ["an input that does not fit", { workflow: "hello", input: { name: 7 } }, "input_invalid"],
    ["a schema that throws", { workflow: "picky", input: {} }, "input_invalid"],
    ["an input above the cap", { workflow: "hello", input: { name: "x".repeat(1_048_577) } }, "too_large"],
  ])("%s", async (_name, request, code) => {
    const before = await count();
    await expect(admission.admit(SOMEBODY, requestOf(request))).rejects.toMatchObject({ code });
    expect(await count()).toEqual(before);
  });

  test("an input that does not fit says where", async () => {
    await expect(world.submit("hello", { name: 7 })).rejects.toMatchObject({
      issues: [{ path: "/input/name", message: expect.stringContaining("string") }],
    });
  });
});

describe("a batch", () => {
  test("commits together, and answers for each member also where keys repeat", async () => {
    await world.submit("hello", { name: "old" }, { key: "b1" });
    const { runs } = await admission.admitBatch(SOMEBODY, [
      requestOf({ workflow: "hello", input: { name: "new" } }, "b2"),
      requestOf({ workflow: "hello", input: { name: "old" } }, "b1"),
      requestOf({ workflow: "hello", input: { name: "other" } }, "b1"),
      requestOf({ workflow: "hello", input: { name: "new" } }, "b2"),
      requestOf({ workflow: "hello", input: { name: "without a key" } }),
    ]);
    expect(runs.map((run) => (run.outcome === "admitted" ? run.run.created : run.outcome))).toEqual([
      true,
      false,
      "conflict",
      false,
      true,
    ]);
    expect(runs[3]).toMatchObject({ run: { runId: (runs[0] as { run: { runId: string } }).run.runId } });
  });

  test("with one bad member admits nothing, and names each", async () => {
    const before = await count();
    const batch = admission.admitBatch(SOMEBODY, [
      requestOf({ workflow: "hello", input: { name: "good" } }),
      requestOf({ workflow: "hello", input: {} }),
      requestOf({ workflow: "goodbye" }),
    ]);
    await expect(batch).rejects.toMatchObject({
      issues: [{ path: "/runs/1/input/name" }, { path: "/runs/2" }],
    });
    expect(await count()).toEqual(before);
  });
});

describe("a held run", () => {
  test("is neither published nor claimed until it is released, and is released once", async () => {
    await world.drain();
    const { runId } = await world.submit("hello", { name: "a" }, { version: 1, held: true });
    await world.advance(120);
    expect((await world.reconcile()).relay.found).toBe(0);
    expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ done: false, reason: "held" }]);
    expect(await world.drain()).toEqual([]);

    const [first, second] = await Promise.all([
      admission.release(SOMEBODY, runId),
      admission.release(SOMEBODY, runId),
    ]);
    expect([first, second].filter((one) => one.released)).toHaveLength(1);
    await world.drain();
    expect((await world.view(runId)).status).toBe("DONE");
    expect(await admission.release(SOMEBODY, runId)).toMatchObject({ released: false });
    const [row] = await db.admin("select count(*)::integer as n from ghouls.deliveries where run_id = $1", [
      runId,
    ]);
    expect(row).toEqual({ n: 1 });
  });

  test("whose delivery was fenced has nothing left to release", async () => {
    const { runId } = await world.submit("hello", { name: "a" }, { held: true });
    await db.admin("update ghouls.runs set status = 'CANCELLING' where run_id = $1", [runId]);
    await db.admin(
      "update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1",
      [runId],
    );
    await expect(admission.release(SOMEBODY, runId)).rejects.toMatchObject({ code: "hold_ended" });
  });

  test.each(["not an id", "0b6f7f6e-7d8d-4f5c-9a55-0d7d7c1f2a3b"])(
    "release of %s is not found",
    async (runId) => {
      await expect(admission.release(SOMEBODY, runId)).rejects.toMatchObject({ code: "not_found" });
    },
  );

  test("of another tenant is not found, and stays held", async () => {
    const { runId } = await world.submit("hello", { name: "a" }, { held: true });
    await expect(admission.release({ ...SOMEBODY, tenantId: "umbrella" }, runId)).rejects.toMatchObject({
      code: "not_found",
    });
    const [row] = await db.admin("select status from ghouls.deliveries where run_id = $1", [runId]);
    expect(row).toEqual({ status: "HELD" });
  });
});

describe("inside the caller's transaction", () => {
  const request = (name: string) => requestOf({ workflow: "hello", input: { name } }, `tx-${name}`);

  test("a rollback leaves nothing, and a commit leaves a run that the receipt publishes", async () => {
    await world.drain();
    const client = await db.client("application");
    const before = await count();
    await client.query("begin");
    await admission.admitIn(client, SOMEBODY, request("rollback"));
    await client.query("rollback");
    expect(await count()).toEqual(before);

    await client.query("begin");
    const receipt = await admission.admitIn(client, SOMEBODY, request("commit"));
    expect(await world.drain()).toEqual([]);
    await client.query("commit");
    await admission.publish(receipt);
    await world.drain();
    expect((await world.view(receipt.admitted.runId)).status).toBe("DONE");
  });

  test("without its receipt the relay publishes", async () => {
    const client = await db.client("application");
    await client.query("begin");
    const receipt = await admission.admitIn(client, SOMEBODY, request("relay"));
    await client.query("commit");
    await world.advance(16);
    expect((await world.reconcile()).relay.repaired).toBeGreaterThanOrEqual(1);
    await world.drain();
    expect((await world.view(receipt.admitted.runId)).status).toBe("DONE");
  });

  test.each([
    ["REPEATABLE READ", "begin isolation level repeatable read"],
    ["SERIALIZABLE", "begin isolation level serializable"],
  ])("%s is refused by name", async (isolation, begin) => {
    const client = await db.client("application");
    await client.query(begin);
    await expect(admission.admitIn(client, SOMEBODY, request("isolated"))).rejects.toMatchObject({
      code: "wrong_transaction",
      message: expect.stringContaining(isolation),
    });
    await client.query("rollback");
  });

  test("a connection without a transaction is refused, and nothing was written", async () => {
    const before = await count();
    await expect(
      admission.admitIn(await db.client("application"), SOMEBODY, request("none")),
    ).rejects.toMatchObject({
      code: "wrong_transaction",
    });
    expect(await count()).toEqual(before);
  });

  test("the caller's own lock_timeout is given back", async () => {
    const client = await db.client("application");
    await client.query("begin");
    await client.query("set local lock_timeout = '1234ms'");
    await admission.admitIn(client, SOMEBODY, request("timeout"));
    expect((await client.query("show lock_timeout")).rows).toEqual([{ lock_timeout: "1234ms" }]);
    await client.query("rollback");
  });

  test("a key that is not committed yet holds the next one up for a bounded time, then answers busy", async () => {
    const client = await db.client("application");
    await client.query("begin");
    await admission.admitIn(client, SOMEBODY, request("busy"));
    await expect(admission.admit(SOMEBODY, request("busy"))).rejects.toMatchObject({
      code: "admission_busy",
      retryAfterSeconds: 2,
    });
    await client.query("rollback");
    expect(await admission.admit(SOMEBODY, request("busy"))).toMatchObject({ created: true });
  });

  test("a key whose admission commits meanwhile is the other's run", async () => {
    const client = await db.client("application");
    const pid = (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid ?? 0;
    await client.query("begin");
    const receipt = await admission.admitIn(client, SOMEBODY, request("meanwhile"));
    const second = admission.admit(SOMEBODY, request("meanwhile"));
    await waiting(db, pid);
    await client.query("commit");
    expect(await second).toMatchObject({ created: false, runId: receipt.admitted.runId });
  });
});

test("payloads pass the codec: nothing readable is stored, and everything comes back", async () => {
  const reversed = (text: string) => Promise.resolve(Array.from(text).toReversed().join(""));
  const codec: Codec = {
    encode: reversed,
    decode: reversed,
    digest: (text) => Promise.resolve(`keyed:${text.length}`),
  };
  const sealed = await testWorld({
    codec,
    workflows: [
      workflow({
        ...shape(),
        run: async (ctx, { name }) => ctx.step("secret", () => `secret of ${name}`),
      }),
    ],
  });
  const { runId } = await sealed.submit("hello", { name: "canary-payload" });
  await sealed.drain();
  expect(await sealed.view(runId)).toMatchObject({
    input: { name: "canary-payload" },
    output: "secret of canary-payload",
  });
  const stored = JSON.stringify([
    await sealed.db.admin("select * from ghouls.runs"),
    await sealed.db.admin("select * from ghouls.journal"),
  ]);
  expect(stored).not.toContain("canary-payload");
  expect(stored).toContain("keyed:");
});
