import { afterEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { makeRun } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({}),
  run: () => Promise.resolve(null),
});
const world = await testWorld({ workflows: [hello] });
afterEach(() => world.reset());

/** A run that was admitted some minutes ago. */
async function admitted(minutesAgo: number, options: Parameters<typeof makeRun>[1] = {}) {
  const run = await makeRun(world.db, options);
  await world.db.admin(
    // Not by its triggers, which refuse to change a run that has ended.
    `with off as (select set_config('session_replication_role', 'replica', true))
     update ghouls.runs set created_at = ghouls.clock() - $2 * interval '1 minute' from off where run_id = $1`,
    [run.runId, minutesAgo],
  );
  return run;
}
const label = (runId: string, key: string, value: string) =>
  world.db.admin(
    `insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
     select tenant_id, run_id, $2, $3, created_at from ghouls.runs where run_id = $1`,
    [runId, key, value],
  );

describe("runs over time", () => {
  test("are counted by when they were admitted and what they are now, hole by hole", async () => {
    await admitted(5, { status: "DONE" });
    await admitted(6, { status: "DONE" });
    await admitted(7, { status: "RUNNING" });
    await admitted(125, { status: "FAILED" });
    await admitted(25 * 60, { status: "DONE" });
    await admitted(5, { tenantId: "umbrella" });
    const counts = await world.reads.countRuns("acme", {}, 24);
    expect(counts).toMatchObject({ counted: 4, complete: true, bucketSeconds: 3_600 });
    expect(counts.buckets).toHaveLength(24);
    expect(counts.buckets.at(-1)?.statuses).toEqual({ DONE: 2, RUNNING: 1 });
    expect(counts.buckets.at(-3)?.statuses).toEqual({ FAILED: 1 });
    expect(counts.buckets.filter(({ statuses }) => Object.keys(statuses).length > 0)).toHaveLength(2);
    expect(counts.buckets[0]?.at).toBe(counts.since);
  });

  test("are counted by the filters of the list", async () => {
    const first = await admitted(5);
    const second = await admitted(5, { workflow: "other" });
    await label(first.runId, "team", "payments");
    await label(second.runId, "team", "payments");
    await label(second.runId, "env", "live");
    const counted = async (filter: Parameters<typeof world.reads.countRuns>[1]) =>
      (await world.reads.countRuns("acme", filter, 1)).counted;
    expect(await counted({})).toBe(2);
    expect(await counted({ workflow: "other" })).toBe(1);
    expect(await counted({ labels: { team: "payments" } })).toBe(2);
    expect(await counted({ labels: { team: "payments", env: "live" } })).toBe(1);
    expect(await counted({ labels: { team: "payments" }, workflow: "other" })).toBe(1);
    expect(await counted({ labels: { team: "none" } })).toBe(0);
  });

  test("of nothing are all there, and nothing in them", async () => {
    const counts = await world.reads.countRuns("acme", {}, 1);
    expect(counts).toMatchObject({ counted: 0, complete: true, bucketSeconds: 150 });
    expect(counts.buckets.map(({ statuses }) => statuses)).toEqual(Array.from({ length: 24 }, () => ({})));
  });
});

describe("what runs are pinned to", () => {
  test("is told with where that code is, of runs that have not ended", async () => {
    await world.submit("hello", {});
    await admitted(60, {
      workflow: "hello",
      digest: "an earlier one",
      status: "AWAITING_TIMER",
    });
    await admitted(90, { workflow: "hello", digest: "an earlier one", status: "QUEUED" });
    await admitted(1, { workflow: "hello", digest: "an earlier one", status: "DONE" });
    await admitted(1, { workflow: "hello", digest: "of others", tenantId: "umbrella" });
    await admitted(1, { workflow: "kept", digest: "released" });
    await world.db.admin(
      `insert into ghouls.releases (workflow_name, workflow_version, workflow_digest, bundle_digest, bytes, on_worker_loss, basis_text,
         starts, build, recorded_at, deployed_at)
       values ('kept', 1, 'released', repeat('0', 64), 1, 'resume', '{}', '{}', 'b', ghouls.clock(), ghouls.clock())`,
    );
    const { pinned, complete } = await world.reads.listPinned("acme");
    expect(complete).toBe(true);
    expect(pinned.map(({ name, digest, openRuns, held }) => [name, digest, openRuns, held])).toEqual([
      ["hello", "an earlier one", 2, "nowhere"],
      ["hello", "hello@1", 1, "build"],
      ["kept", "released", 1, "release"],
    ]);
    const oldest = pinned.find(({ held }) => held === "nowhere")?.oldestAt ?? "";
    expect(Date.now() - Date.parse(oldest)).toBeGreaterThan(89 * 60_000);
  });
});
