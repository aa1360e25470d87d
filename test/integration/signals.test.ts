import { afterEach, expect, test } from "vitest";
import { workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import { SOMEBODY, testWorld } from "../support/world.ts";

type Code = (ctx: WorkflowContext) => Promise<unknown>;
let code: Code = () => Promise.resolve();
const job = workflow({
  name: "job",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => code(ctx),
});
const world = await testWorld({ workflows: [job] });
afterEach(async () => {
  expect((await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity")).toEqual([]);
  await world.reset();
});

const send = (runId: string, name: string, payloadText?: string) =>
  world.signals.send(SOMEBODY, runId, { name, payloadText });

/** Signals that nobody takes, as many as a run keeps. */
async function filled(runId: string): Promise<void> {
  await world.db.admin(
    `insert into ghouls.signals (tenant_id, run_id, signal_id, name, request_digest, sent_by, received_at)
     select 'acme', $1, gen_random_uuid(), 'other', 'd', 'user:ada', ghouls.clock() from generate_series(1, 1000)`,
    [runId],
  );
}

test("a signal that its run waits for is taken, however many of other names are kept", async () => {
  code = (ctx) => ctx.waitForSignal("real");
  const { runId } = await world.submit("job");
  await world.drain();
  await filled(runId);
  await expect(send(runId, "another")).rejects.toMatchObject({ code: "too_many_signals" });
  expect(await send(runId, "real")).toMatchObject({ resumed: true });
  await world.drain();
  expect((await world.view(runId)).status).toBe("DONE");
});

test("more signals of the awaited name than the run can take are refused, so that what is kept has a bound", async () => {
  code = (ctx) => ctx.waitForSignal("real");
  const { runId } = await world.submit("job");
  await world.drain();
  await filled(runId);
  await world.db.admin(
    "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'a test' where run_id = $1",
    [runId],
  );
  expect(await send(runId, "real")).toMatchObject({ resumed: false });
  await expect(send(runId, "real")).rejects.toMatchObject({ code: "too_many_signals" });
  expect(await world.control.clear(SOMEBODY, runId, "a test")).toBeDefined();
  await world.drain();
  expect((await world.view(runId)).status).toBe("DONE");
});

const MEGABYTE = JSON.stringify("x".repeat(1_000_000));
const bytesOf = async (runId: string) => {
  const [row] = await world.db.admin(
    "select journal_bytes::integer as bytes from ghouls.runs where run_id = $1",
    [runId],
  );
  return Number(row?.["bytes"]);
};

test("what a run waits for counts towards its journal of 32 MiB, and what goes above ends it by name", async () => {
  code = async (ctx) => {
    for (let round = 0; round < 5; round += 1)
      await Promise.all(Array.from({ length: 8 }, (_, n) => ctx.waitForSignal(`big ${n}`)));
  };
  const { runId } = await world.submit("job");
  for (let n = 0; n < 40; n += 1) await send(runId, `big ${n % 8}`, MEGABYTE);
  await world.drain();
  const view = await world.view(runId);
  expect(view).toMatchObject({ status: "FAILED", errorCode: "too_large", steps: 34 });
  expect(view.error?.message).toContain("33554432");
  expect(await bytesOf(runId)).toBeLessThan(33 * 1_048_576);
}, 30_000);

test("many waits that are over at once bring no more into the journal than one value above its cap", async () => {
  code = (ctx) => Promise.all(Array.from({ length: 40 }, (_, n) => ctx.waitForSignal(`big ${n}`)));
  const { runId } = await world.submit("job");
  for (let n = 0; n < 40; n += 1) await send(runId, `big ${n}`, MEGABYTE);
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "too_large", waits: [] });
  expect(await bytesOf(runId)).toBeLessThan(33 * 1_048_576);
  // What it did not take is kept as it came.
  const kept = await world.db.admin("select 1 from ghouls.signals where consumed_at is null");
  expect(kept).toHaveLength(6);
}, 30_000);
