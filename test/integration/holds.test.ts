import { expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { identityCodec } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("hello"),
});
const waits = workflow({
  name: "waits",
  version: 1,
  onWorkerLoss: "resume",
  deadline: "2h",
  input: z.unknown(),
  run: async (ctx) => [ctx.now().getTime(), await ctx.waitForSignal("paid", { timeout: "1h" })],
});
let broken: string | undefined;
const world = await testWorld({
  workflows: [hello, waits],
  codec: {
    ...identityCodec,
    encode: (text, { kind, runId }) =>
      kind === "error" && runId === broken ? Promise.reject(new Error("no key")) : Promise.resolve(text),
  },
});
const hold = (holdFor: "1m" | "10m") => world.submit("hello", null, { held: true, holdFor });

test("a run that nobody releases in time is FAILED hold_expired, and a later release is refused by name", async () => {
  const { runId } = await hold("10m");
  await world.advance(599);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 0 } });
  expect((await world.view(runId)).status).toBe("QUEUED");
  await world.advance(2);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 1, repaired: 1, failed: 0, pages: 1 } });
  expect(await world.view(runId)).toMatchObject({
    status: "FAILED",
    error: {
      code: "hold_expired",
      message: expect.stringMatching(/^the run was held until .*Z, and nobody/),
    },
  });
  await expect(world.admission.release(SOMEBODY, runId)).rejects.toMatchObject({ code: "hold_ended" });
  expect(await world.drain()).toEqual([]);
  expect((await world.ledger.doctor()).filter((check) => !check.ok)).toEqual([]);
});

test("a run that was released in time is carried, however late the pass comes", async () => {
  const { runId } = await hold("10m");
  await world.advance(599);
  expect(await world.admission.release(SOMEBODY, runId)).toMatchObject({ released: true });
  await world.advance(3_600);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 0 } });
  await world.drain();
  expect((await world.view(runId)).status).toBe("DONE");
});

test("a release after the hold's expiry is refused by name before any pass has seen it, and releases nothing", async () => {
  const { runId } = await hold("10m");
  await world.advance(601);
  await expect(world.admission.release(SOMEBODY, runId)).rejects.toMatchObject({
    code: "hold_ended",
    message: "the hold has expired: there is nothing left to release",
  });
  expect((await world.view(runId)).status).toBe("QUEUED");
  expect(await world.reconcile()).toMatchObject({ holds: { found: 1, repaired: 1 }, relay: { found: 0 } });
  expect((await world.view(runId)).error?.code).toBe("hold_expired");
});

test("a run that was held has its whole time from its release on: what it waits for, and until its deadline", async () => {
  const { runId } = await world.submit("waits", null, { held: true, holdFor: "6h" });
  const { createdAt, deadlineAt } = await world.view(runId);
  await world.advance(3 * 3_600);
  // Its deadline of two hours has not begun.
  expect(await world.reconcile()).toMatchObject({ deadlines: { found: 0 } });
  expect((await world.view(runId)).status).toBe("QUEUED");
  await world.admission.release(SOMEBODY, runId);
  await world.drain();
  const view = await world.view(runId);
  expect(view).toMatchObject({ status: "AWAITING_SIGNAL" });
  const heldMs = Date.parse(view.startsAt ?? "") - Date.parse(createdAt);
  expect(heldMs).toBeGreaterThanOrEqual(3 * 3_600_000);
  expect(Date.parse(view.deadlineAt ?? "") - Date.parse(deadlineAt ?? "")).toBe(heldMs);
  expect(Date.parse(view.waits[0]?.dueAt ?? "")).toBe(Date.parse(view.startsAt ?? "") + 3_600_000);
  await world.advance(3_601);
  await world.reconcile();
  await world.drain();
  expect(await world.view(runId)).toMatchObject({
    status: "DONE",
    output: [Date.parse(view.startsAt ?? ""), { outcome: "TIMED_OUT" }],
  });
});

test("a run that is released before its delayed start keeps that start and its deadline", async () => {
  const { runId } = await world.submit("waits", null, { held: true, holdFor: "6h", startAfter: "4h" });
  const { startsAt, deadlineAt } = await world.view(runId);
  await world.advance(3_600);
  await world.admission.release(SOMEBODY, runId);
  expect(await world.view(runId)).toMatchObject({ startsAt, deadlineAt });
});

test("a codec that cannot write one run's reason holds up no other's, and the next pass tries again", async () => {
  const [stuck, other] = [await hold("1m"), await hold("1m")];
  broken = stuck.runId;
  await world.advance(61);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 2, repaired: 1, failed: 1 } });
  expect((await world.view(stuck.runId)).status).toBe("QUEUED");
  expect((await world.view(other.runId)).status).toBe("FAILED");
  broken = undefined;
  // It stands aside until its own turn.
  await world.advance(31);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 1, repaired: 1, degraded: 0 } });
  expect((await world.view(stuck.runId)).status).toBe("FAILED");
});

test("more holds than a page are ended in one invocation", async () => {
  await world.reset();
  await Promise.all(Array.from({ length: 120 }, () => hold("1m")));
  await world.advance(61);
  expect(await world.reconcile()).toMatchObject({ holds: { found: 120, repaired: 120, pages: 2 } });
  expect(await world.db.admin("select 1 from ghouls.runs where status <> 'FAILED'")).toEqual([]);
});
