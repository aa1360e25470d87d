import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { workflow } from "ghouls";
import { publish, published } from "../../packages/workflows/src/release-gate/publish.ts";
import { releaseIn } from "../../packages/workflows/src/release-gate/release.support.ts";
import { testS3 } from "../support/s3.ts";
import { testWorld } from "../support/world.ts";

/** The step of the release gate that publishes, alone, over a real ledger and a real S3 whose requests are counted. */

const folder = await mkdtemp(join(tmpdir(), "ghouls-publish-"));
await chmod(folder, 0o755);
const s3 = await testS3();
const publishes = workflow({
  name: "publishes",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    const release = await ctx.step("release", () => releaseIn(folder, ctx.runId));
    return ctx.step("publish", (step) => publish(release, step), {
      effect: "once",
      tries: 3,
      backoff: { initial: "1ms" },
      probe: (step) => published(release, step),
    });
  },
});
const world = await testWorld({ workflows: [publishes] });
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  s3.forget();
  s3.useEnvironment();
  await world.reset();
});
afterEach(() => vi.unstubAllEnvs());

/** Lets a worker carry the first delivery until `gone` resolves, never hear of it again, and its lease lapse. */
async function lose(
  runId: string,
  gone: (stop: Promise<void>) => Promise<void>,
  point?: string,
): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const faults = (at: string, what: string): void | Promise<void> => {
    if (at !== point || what !== "publish") return;
    reached.resolve();
    return new Promise(() => undefined);
  };
  void world.deliver([`run:${runId}:1`], { faults, worker: "lost" });
  await gone(reached.promise);
  await world.db.admin(
    "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1 and seq = 1",
    [runId],
  );
}

/** Recovers what was lost, and asks only when the lost claim is over. */
async function recover(): Promise<void> {
  await world.reconcile();
  await world.drain();
  await world.advance(1_000);
  await world.reconcile();
  await world.drain();
}

const NAMES = ["bom.json", "verdict.json", "signer.pub.pem", "statement.json", "statement.sig"];
const names = (keys: readonly string[]) => keys.map((key) => key.split("/").at(-1));
const signatures = (keys: readonly string[]) => keys.filter((key) => key.endsWith("statement.sig")).length;

async function expectPublished(runId: string): Promise<void> {
  const view = await world.view(runId);
  expect(view).toMatchObject({ status: "DONE", output: { bucket: "releases" } });
  const { objects } = view.output as { objects: { key: string }[] };
  expect(objects.map(({ key }) => key)).toEqual(NAMES.map((name) => `releases/${runId}/${name}`));
  for (const { key } of objects) expect(await s3.object(key)).toBeDefined();
}

describe("a release", () => {
  test("is published by one put for each object, where nothing goes wrong", async () => {
    const { runId } = await world.submit("publishes");
    await world.drain();
    await expectPublished(runId);
    expect(names(s3.puts)).toEqual(NAMES);
  });

  test("of a worker that is killed before its first put is published once", async () => {
    const { runId } = await world.submit("publishes");
    await lose(runId, (reached) => reached, "worker.after-intent");
    expect(s3.puts).toEqual([]);
    await recover();
    await expectPublished(runId);
    expect(names(s3.puts)).toEqual(NAMES);
  });

  test("of a worker that is killed between two puts is published once: its signature was not put before", async () => {
    s3.fate("statement.json", "silence");
    const { runId } = await world.submit("publishes");
    const seen = s3.seen("statement.json");
    await lose(runId, () => seen);
    expect(names(s3.taken)).toEqual(NAMES.slice(0, 3));
    await recover();
    await expectPublished(runId);
    expect(signatures(s3.puts)).toBe(1);
  });

  test("of a worker that is killed after S3 has taken it is published once: S3 is asked, and nothing is put again", async () => {
    const { runId } = await world.submit("publishes");
    await lose(runId, (reached) => reached, "worker.after-step");
    expect(names(s3.taken)).toEqual(NAMES);
    await recover();
    await expectPublished(runId);
    expect(names(s3.puts)).toEqual(NAMES);
  });

  test("whose last answer was lost is published once", async () => {
    s3.fate("statement.sig", "lose-answer");
    const { runId } = await world.submit("publishes");
    await recover();
    await expectPublished(runId);
    expect(signatures(s3.puts)).toBe(1);
  });

  test("that S3 refuses at first is tried again, and taken once", async () => {
    s3.fate("statement.sig", 403);
    const { runId } = await world.submit("publishes");
    await world.drain();
    await expectPublished(runId);
    expect([signatures(s3.puts), signatures(s3.taken)]).toEqual([2, 1]);
  });

  test("in whose place there is another's signature is left to an operator, and that one is not overwritten", async () => {
    const { runId } = await world.submit("publishes");
    await lose(runId, (reached) => reached, "worker.after-intent");
    await s3.put(`releases/${runId}/statement.sig`, "another");
    await recover();
    expect(await world.view(runId)).toMatchObject({
      status: "FAILING",
      error: { code: "effect_unknown", step: "publish" },
    });
    expect((await s3.object(`releases/${runId}/statement.sig`))?.bytes.toString()).toBe("another");
    expect(s3.puts).toEqual([]);
  });
});
