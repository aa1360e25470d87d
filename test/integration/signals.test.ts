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
