import { describe, expect, test } from "vitest";
import { endingsPass } from "@ghouls/engine";
import { crashWorld } from "../support/crash-world.ts";
import { roundOf } from "../support/passes.ts";
import { killsOn, victims } from "../support/victims.ts";
import type { Fault, Passing } from "../support/fault-plan.ts";

/**
 * What follows a terminal commit, made to fail, to hang and to die: the status stays, the other acts are done, and the
 * reconciler does the rest.
 */

const world = await crashWorld();
const { db, ledger } = world;
const victim = victims(() => world.start());
const endings = endingsPass({ ledger });

/** A run of two hops, so that it has a checkpoint to delete: its last hop is the second. */
const submit = () => world.submit("many", { steps: 2, delay: 0, timeout: "10s" });
const firstHop = async (runId: string) => {
  const worker = await victim();
  const messages = await world.receive();
  await world.workShortly(worker, messages, runId);
  // It is settled: whoever gets it again lets it go, and that is not what is looked at here.
  for (const { receiptHandle } of messages) await world.queue.delete("runs", receiptHandle);
  return worker;
};

async function wayOfTheLastHop(): Promise<readonly Passing[]> {
  const { runId } = await submit();
  const worker = await firstHop(runId);
  await worker.faults([]);
  await world.step(worker);
  const way = [...(await worker.inspect()).passings];
  worker.signal("SIGKILL");
  expect(await world.statusOf(runId)).toBe("DONE");
  const settled = way.findIndex(({ point }) => point === "worker.after-settle");
  return way.slice(settled + 1);
}

const way = await wayOfTheLastHop();
/** Statements that carry the acts out, each with the act that is left where it is not carried out. */
const STATEMENTS = {
  "evidence.delete-checkpoints": "checkpoints",
  "evidence.copy-steps": undefined,
  "evidence.write-record": "record",
} as const;

const actsOf = async (runId: string) =>
  (
    await db.admin<{ act: string }>("select act from ghouls.end_acts where run_id = $1 order by act", [runId])
  ).map(({ act }) => act);
const stateOf = async (runId: string) => ({
  checkpoints: (await db.admin("select from ghouls.checkpoints where run_id = $1", [runId])).length,
  records: (await db.admin("select from ghouls.terminal_records where run_id = $1", [runId])).length,
  copies: (await db.admin("select from ghouls.evidence where run_id = $1", [runId])).length,
});
const DONE = { checkpoints: 0, records: 1 };

/** Whatever became of the worker, the run has ended as it did, and the pass does what is left. */
async function mended(runId: string, left: readonly string[]): Promise<void> {
  expect(await world.statusOf(runId)).toBe("DONE");
  expect((await actsOf(runId)).filter((act) => act !== "seal")).toEqual(left);
  expect(await roundOf(endings)).toEqual(left.map((act) => [`${runId} ${act}`, "repaired"]));
  expect(await stateOf(runId)).toMatchObject(DONE);
  expect(await roundOf(endings)).toEqual([]);
  expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
  await world.audit({ [runId]: "DONE" });
}

test("the way after the settle has every act", () => {
  const statements = way
    .filter(({ point }) => point === "ledger.after-statement")
    .map(({ detail }) => detail);
  for (const name of Object.keys(STATEMENTS)) expect(statements, name).toContain(name);
});

test.each(Object.entries(STATEMENTS))(
  "where %s fails, the others are done, and the pass does it",
  async (detail, act) => {
    const { runId } = await submit();
    const worker = await firstHop(runId);
    // As long as it is tried.
    const fails: Fault = { point: "ledger.before-statement", detail, action: "lose", times: 100 };
    await worker.faults([fails]);
    await world.step(worker);
    expect(worker.alive()).toBe(true);
    await worker.faults([]);
    expect(await stateOf(runId)).toMatchObject({ copies: act === undefined ? 1 : 2 });
    await mended(runId, act === undefined ? [] : [act]);
    worker.signal("SIGKILL");
  },
);

test.each(Object.entries(STATEMENTS))(
  "where %s hangs, the others are done, and its answer that comes late changes nothing",
  async (detail, act) => {
    const { runId } = await submit();
    const worker = await firstHop(runId);
    await worker.faults([{ point: "ledger.before-statement", detail, action: "delay" }]);
    await world.step(worker);
    expect(await world.statusOf(runId)).toBe("DONE");
    await mended(runId, act === undefined ? [] : [act]);
    const before = await db.admin("select * from ghouls.terminal_records where run_id = $1", [runId]);
    worker.go();
    // What it does next comes behind what was let go.
    await worker.inspect();
    await mended(runId, []);
    expect(await db.admin("select * from ghouls.terminal_records where run_id = $1", [runId])).toEqual(
      before,
    );
    worker.signal("SIGKILL");
  },
);

describe("kill -9 of the worker after its terminal commit", () => {
  test.each(killsOn(way))("at %s", async (_, fault) => {
    const { runId } = await submit();
    const worker = await firstHop(runId);
    await worker.faults([fault]);
    const messages = await world.receive();
    expect(await worker.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    const left = (await actsOf(runId)).filter((act) => act !== "seal");
    await mended(runId, left);
    // Its message comes again, and is let go.
    const again = await victim();
    await world.step(again);
    expect(await world.receive()).toEqual([]);
    again.signal("SIGKILL");
  });
});
