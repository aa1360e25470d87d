import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { workflow } from "ghouls";
import { GhoulsError, sha256, type PayloadContext } from "@ghouls/core";
import { sealsPass } from "@ghouls/engine";
import * as z from "zod";
import { roundOf } from "../support/passes.ts";
import { testWorld } from "../support/world.ts";

/** What people are shown of what is kept of a run, beside its timeline. */

let held: { readonly began: () => void; readonly until: Promise<unknown> } | undefined;

const says = workflow({
  name: "says",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  async run(ctx) {
    ctx.emit("begun", { by: "me" });
    await ctx.map("parts", [1, 2], (part) => ctx.step("part", () => ({ part })));
    await ctx.step("long", () => "x".repeat(20_000));
    return "done";
  },
});

const slow = workflow({
  name: "slow",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) =>
    ctx.step("pay", async () => {
      held?.began();
      await held?.until;
      return { paid: 7 };
    }),
});

/** Each kind of payload has a key of its own: one that is read as another kind is not read. */
const codec = {
  encode: async (text: string, { kind }: PayloadContext) => JSON.stringify([kind, text]),
  decode: async (stored: string, { kind }: PayloadContext) => {
    const [as, text] = JSON.parse(stored) as [string, string];
    if (as !== kind) throw new Error(`a ${as} was read as ${kind}`);
    return text;
  },
};

const world = await testWorld({ workflows: [says, slow], codec });
const { db, ledger, reads } = world;
const FIRST = { limit: 50 };
const shown = async (runId: string, page: { limit: number; cursor?: string } = FIRST) => {
  const evidence = await reads.getEvidence("acme", runId, page);
  if (evidence === undefined) throw new Error("there is none");
  return evidence;
};

test("a run that has ended has its record, its seal once there is one, and the copies in their order", async () => {
  const { runId } = await world.submit("says");
  expect(await shown(runId)).toEqual({ runId, terminal: null, rejected: [], copies: [], nextCursor: null });
  await world.drain();
  const before = await shown(runId);
  expect(before.terminal).toMatchObject({ agrees: true, seal: null });
  expect(sha256(before.terminal?.record ?? "")).toBe(before.terminal?.digest);
  expect(before.terminal?.bytes).toBe(Buffer.byteLength(before.terminal?.record ?? ""));
  await roundOf(sealsPass({ ledger, faults: () => undefined, log: world.deps.log }));
  const { terminal, copies, nextCursor } = await shown(runId);
  const [seal] = await db.admin("select number, digest from ghouls.seals where tenant_id = 'acme'");
  expect(terminal?.seal).toMatchObject(seal ?? {});
  expect(nextCursor).toBeNull();
  expect(copies.map(({ kind, name, nth, body }) => [kind, name, nth, body])).toEqual([
    ["emit", "begun", 1, { by: "me" }],
    ["step", "part", 1, { part: 1 }],
    ["step", "part", 1, { part: 2 }],
    ["step", "long", 1, null],
  ]);
  expect(copies.map(({ scope }) => scope !== "")).toEqual([false, true, true, false]);
  expect(copies.map(({ ordinal }) => ordinal)).toEqual([null, 1, 2, 3]);
  // A long one is told by its digest and its length alone.
  expect(copies.at(-1)?.bytes).toBeGreaterThan(16_384);
  expect(copies.at(-1)?.digest).toMatch(/^[0-9a-f]{64}$/);
});

test("a page at a time has each copy once, and the record with the first alone", async () => {
  const { runId } = await world.submit("says");
  await world.drain();
  const whole = await shown(runId);
  const found = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 9; pages += 1) {
    const page = await shown(runId, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.terminal === null).toBe(pages > 0);
    found.push(...page.copies);
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  expect(found).toEqual(whole.copies);
});

test("a record that says other things than the rows is shown as it is, and said to disagree", async () => {
  const { runId } = await world.submit("says");
  await world.drain();
  await db.admin("update ghouls.terminal_records set record_text = '{}' where run_id = $1", [runId]);
  expect((await shown(runId)).terminal).toMatchObject({ record: "{}", agrees: false });
  const forged = sha256("{}");
  await db.admin("update ghouls.terminal_records set record_digest = $2 where run_id = $1", [runId, forged]);
  expect((await shown(runId)).terminal).toMatchObject({ digest: forged, agrees: false });
});

test("what a fenced worker brings too late is shown with the worker, and what took its claim away", async () => {
  const began = Promise.withResolvers<void>();
  const until = Promise.withResolvers<void>();
  held = { began: began.resolve, until: until.promise };
  const { runId } = await world.submit("slow");
  const zombie = world.deliver([`run:${runId}:1`], { worker: "zombie" });
  await began.promise;
  await world.control.cancel({ tenantId: "acme", subject: "user:ada", roles: [] }, runId, "by a test");
  until.resolve();
  await zombie;
  held = undefined;
  expect((await shown(runId)).rejected).toMatchObject([
    {
      enqueueSeq: 1,
      worker: "zombie",
      kind: "step",
      name: "pay",
      outcome: "ok",
      reason: "cancelled",
      body: { paid: 7 },
    },
  ]);
});

test("neither another tenant nor a run that is not there has any, and a cursor of another form is refused", async () => {
  const { runId } = await world.submit("says");
  expect(await reads.getEvidence("umbrella", runId, FIRST)).toBeUndefined();
  expect(await reads.getEvidence("acme", randomUUID(), FIRST)).toBeUndefined();
  expect(await reads.getEvidence("acme", "no id", FIRST)).toBeUndefined();
  const refused = await shown(runId, { limit: 1, cursor: "x" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(GhoulsError);
  expect(refused).toMatchObject({ code: "invalid_request" });
});
