import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { S3 } from "@aws-sdk/client-s3";
import { startFauxqs } from "fauxqs";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { noFaults, type FaultInjector } from "@ghouls/core";
import { createPublisher, openReleaseStore, removeReleases } from "ghouls";
import type { OpenReleaseStore } from "../../packages/ghouls/src/releases/store.ts";
import { buildDeploy, folder, publish, type Deploy } from "../support/deploys.ts";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Code of earlier deploys, which goes on with the runs that are pinned to it. */

const service = jobService();
const world = await testWorld({ workflows: [], services: { signer: service } });
const { db, ledger } = world;

const server = await startFauxqs({ port: 0, logger: false });
const s3 = new S3({
  endpoint: `http://127.0.0.1:${server.port}`,
  region: "us-east-1",
  forcePathStyle: true,
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
});
process.env["AWS_ACCESS_KEY_ID"] = "test";
process.env["AWS_SECRET_ACCESS_KEY"] = "test";
await s3.createBucket({ Bucket: "releases" });
afterAll(async () => {
  s3.destroy();
  await server.stop();
});

let fails: FaultInjector = noFaults;
const faults: FaultInjector = (point, detail) => fails(point, detail);
const connection = { region: "us-east-1", endpoint: `http://127.0.0.1:${server.port}` };
const root = await folder();
const inFolder = openReleaseStore(root, connection, faults);
const inS3 = openReleaseStore("s3://releases/of/ghouls", connection, faults);

beforeEach(async () => {
  fails = noFaults;
  service.forget();
  world.logged.length = 0;
  await world.reset();
  await db.admin("truncate ghouls.workflows, ghouls.releases");
});

/** Code that says which it is, before its park and after it. */
const jobOf = (word: string) => ({
  "words.ts": `export const word: string = ${JSON.stringify(word)};\n`,
  "job.ts": `import { workflow } from "ghouls";
import * as z from "zod";
import { word } from "./words.ts";
export const job = workflow({
  name: "job", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  async run(ctx) {
    const first = await ctx.step("first", () => word);
    await ctx.sleep("1h");
    return [first, await ctx.step("second", async () => (await import("./late.ts")).late + word)];
  },
});
`,
  "late.ts": `export const late: string = "late ";\n`,
  "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { job } from "./job.ts";
export default defineConfig({ workflows: [job] });
`,
});
const [monday, tuesday, wednesday, thursday] = await Promise.all(
  ["monday", "tuesday", "wednesday", "thursday"].map((day) => buildDeploy(world, day, jobOf(day))),
);
if (!monday || !tuesday || !wednesday || !thursday) throw new Error("no builds");

async function parkedUnder(deploy: Deploy, store: OpenReleaseStore, runs = 1): Promise<string[]> {
  await publish(world, deploy, store);
  const ids: string[] = [];
  for (let n = 0; n < runs; n += 1) ids.push(await deploy.submit("job"));
  await world.drain({ deps: deploy.deps(store) });
  for (const id of ids) expect(await world.view(id)).toMatchObject({ status: "AWAITING_TIMER" });
  return ids;
}

async function later(deploy: Deploy, store: OpenReleaseStore | undefined, seconds = 3_700): Promise<void> {
  await world.advance(seconds);
  await world.reconcile();
  await world.drain({ deps: deploy.deps(store) });
}

async function lossesOf(runId: string): Promise<unknown> {
  const [row] = await db.admin("select losses from ghouls.runs where run_id = $1", [runId]);
  return row?.["losses"];
}

const bundleOf = ({ made }: Deploy, name = "job") =>
  made.find(({ workflow }) => workflow.name === name)?.bundle ?? "";

test("the same code is the same bundle in another checkout, and other code another", async () => {
  const again = await buildDeploy(world, "again", jobOf("monday"));
  expect(again.made).toEqual(monday.made);
  expect(again.made[0]?.text).not.toContain("ghouls-deploys-");
  expect(new Set([monday, tuesday, wednesday].map((one) => bundleOf(one))).size).toBe(3);
});

describe.each([
  ["a folder", inFolder],
  ["S3", inS3],
])("in %s", (_where, store) => {
  test("fifty runs that were parked under three older digests end with their own code after three deploys", async () => {
    const parked = new Map<Deploy, string[]>();
    for (const [deploy, runs] of [
      [monday, 17],
      [tuesday, 17],
      [wednesday, 16],
    ] as const)
      parked.set(deploy, await parkedUnder(deploy, store, runs));
    expect(await publish(world, thursday, store)).toBe(1);
    await later(thursday, store);
    for (const [deploy, runs] of parked) {
      for (const id of runs) {
        expect(await world.view(id)).toMatchObject({
          status: "DONE",
          output: [deploy.name, `late ${deploy.name}`],
          workflow: { digest: deploy.digests["job@1"] },
        });
      }
    }
    const loaded = world.logged.filter(({ message }) => message === "a release was loaded");
    expect(loaded).toHaveLength(3);
    expect(new Set(loaded.map(({ fields }) => fields["digest"]))).toEqual(
      new Set([monday, tuesday, wednesday].map(({ digests }) => digests["job@1"])),
    );
    expect(await world.broken()).toEqual([]);
  });

  test("a bundle that was altered by one byte is refused: nothing of it runs, and its run waits for it", async () => {
    const [id = ""] = await parkedUnder(monday, store);
    const bundle = bundleOf(monday);
    const bytes = Buffer.from((await store.get(bundle)) ?? []);
    const altered = Buffer.from(bytes);
    altered[altered.length - 20] = (altered[altered.length - 20] ?? 0) ^ 1;
    await store.put(bundle, altered);
    await later(tuesday, store);
    const held = await world.view(id);
    expect(held).toMatchObject({ status: "QUEUED", enqueueSeq: 3 });
    expect(held.quarantine?.reason).toContain(`is refused: its bundle ${bundle} was altered`);
    expect((await ledger.journal.read({ tenantId: "acme", runId: id }, 0)).map(({ name }) => name)).toEqual([
      "first",
      "1h",
    ]);
    expect(await lossesOf(id)).toBe(0);
    await store.put(bundle, bytes);
    await world.control.clear(SOMEBODY, id, "published again");
    await later(tuesday, store, 60);
    expect(await world.view(id)).toMatchObject({ status: "DONE" });
  });

  test("one that is gone is refused too, and nothing starts over", async () => {
    const [id = ""] = await parkedUnder(monday, store);
    await store.delete(bundleOf(monday));
    await later(tuesday, store);
    expect((await world.view(id)).quarantine?.reason).toMatch(/its bundle \w+ is gone; build monday had it/);
    await publish(world, monday, store);
    await world.control.clear(SOMEBODY, id, "published again");
    await later(tuesday, store, 60);
    expect(await world.view(id)).toMatchObject({ status: "DONE" });
  });

  test("where nobody can tell, the delivery goes back without a loss, and a person is asked at last", async () => {
    const [id = ""] = await parkedUnder(monday, store);
    fails = (point) => {
      if (point === "releases.before-read") throw new Error("no route to the store");
    };
    await later(tuesday, store);
    expect(await world.view(id)).toMatchObject({ status: "QUEUED", attention: null });
    for (let n = 0; n < 12; n += 1) await later(tuesday, store, 60);
    expect(await world.view(id)).toMatchObject({
      status: "QUEUED",
      attention: { reason: expect.stringContaining("release_unreachable: ") },
    });
    fails = noFaults;
    await later(tuesday, store, 60);
    expect(await world.view(id)).toMatchObject({ status: "DONE" });
    expect(await lossesOf(id)).toBe(0);
  });

  test("what a run is pinned to survives a clean-up; when it has ended, it goes", async () => {
    const [id = ""] = await parkedUnder(monday, store);
    await publish(world, tuesday, store);
    await world.advance(40 * 86_400);
    await publish(world, wednesday, store);
    await world.advance(31 * 86_400);
    const clean = () => removeReleases(30 * 86_400_000, { ledger, store });
    expect(await clean()).toEqual({ removed: 1, deleted: 1, missing: [] });
    expect(await store.get(bundleOf(tuesday))).toBeUndefined();
    expect(await ledger.releases.all()).toMatchObject([
      { build: "monday", runs: 1 },
      { build: "wednesday", runs: 0 },
    ]);
    await later(wednesday, store, 0);
    expect(await world.view(id)).toMatchObject({ status: "DONE" });
    // The word of a process that has that code counts as well.
    const digest = monday.digests["job@1"] ?? "";
    await ledger.workflows.record([{ name: "job", version: 1, digest }], "monday");
    expect(await clean()).toMatchObject({ removed: 0 });
    await db.admin("truncate ghouls.workflows");
    expect(await clean()).toEqual({ removed: 1, deleted: 1, missing: [] });
    expect(await store.get(bundleOf(monday))).toBeUndefined();
    // The last deploy's own stay, however long ago it was.
    await world.advance(400 * 86_400);
    expect(await clean()).toMatchObject({ removed: 0 });
  });
});

test("what runs until the switch keeps its release, however long ago its deploy was", async () => {
  const [first = ""] = await parkedUnder(monday, inFolder);
  await later(monday, inFolder);
  expect(await world.view(first)).toMatchObject({ status: "DONE" });
  await world.advance(40 * 86_400);
  // The preflight, before the switch: processes of before go on, and admit.
  await publish(world, tuesday, inFolder);
  const clean = () => removeReleases(30 * 86_400_000, { ledger, store: inFolder });
  expect(await clean()).toMatchObject({ removed: 0 });
  const id = await monday.submit("job");
  await world.drain({ deps: monday.deps(inFolder) });
  await later(tuesday, inFolder);
  expect(await world.view(id)).toMatchObject({ status: "DONE", output: ["monday", "late monday"] });
  await world.advance(31 * 86_400);
  expect(await clean()).toMatchObject({ removed: 1 });
});

test("where nobody deploys, all of the code that runs is of the last publication, what was published before too", async () => {
  const place = await folder();
  const store = openReleaseStore(place, connection, noFaults);
  const variables = {
    DATABASE_URL: db.applicationUrl,
    AWS_REGION: "us-east-1",
    GHOULS_QUEUE_RUNS_URL: "http://127.0.0.1/runs",
    GHOULS_RELEASES: place,
  };
  const publishRunning = async ({ config, digests, made }: Deploy) =>
    createPublisher({ ...config, queues: { runs: config.queues["runs"] } } as never, {
      manifest: digests,
      variables,
      write: () => undefined,
    })((workflows) =>
      Promise.resolve(
        made
          .filter(({ workflow: { name } }) => workflows.some((one) => one.name === name))
          .map(({ bundle, text }) => ({ bundle, bytes: Buffer.from(text) })),
      ),
    );
  expect(await publishRunning(monday)).toBe(1);
  await world.advance(60);
  expect(await publishRunning(tuesday)).toBe(1);
  // Put back: it runs again, and nothing of it is new.
  await world.advance(60);
  expect(await publishRunning(monday)).toBe(0);
  await world.advance(40 * 86_400);
  expect(await removeReleases(30 * 86_400_000, { ledger, store })).toMatchObject({ removed: 1 });
  expect(await ledger.releases.all()).toMatchObject([{ workflow: { digest: monday.digests["job@1"] } }]);
});

test("a child whose module is imported late is known to the release", async () => {
  const files = (word: string) => ({
    "child.ts": `import { workflow } from "ghouls";
import * as z from "zod";
export const child = workflow({ name: "child", version: 1, onWorkerLoss: "resume", input: z.unknown(), run: async (ctx) => ctx.step("c", () => ${JSON.stringify(word)}) });
`,
    "job.ts": `import { workflow } from "ghouls";
import * as z from "zod";
export const job = workflow({ name: "job", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  async run(ctx) {
    await ctx.step("first", () => ${JSON.stringify(word)});
    await ctx.sleep("1h");
    const { child } = await import("./child.ts");
    return ctx.child(child, null);
  } });
`,
    "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { child } from "./child.ts";
import { job } from "./job.ts";
export default defineConfig({ workflows: [child, job] });
`,
  });
  const [one, two] = [
    await buildDeploy(world, "one", files("one")),
    await buildDeploy(world, "two", files("two")),
  ];
  const [id = ""] = await parkedUnder(one, inFolder);
  await publish(world, two, inFolder);
  for (let n = 0; n < 3; n += 1) await later(two, inFolder);
  expect(await world.view(id)).toMatchObject({ status: "DONE", output: { outcome: "DONE", result: "one" } });
});

test("a worker that was not told where releases lie gives the delivery back", async () => {
  const [id = ""] = await parkedUnder(monday, inFolder);
  await later(tuesday, undefined);
  expect(await world.view(id)).toMatchObject({ status: "QUEUED" });
  await later(tuesday, inFolder, 60);
  expect(await world.view(id)).toMatchObject({ status: "DONE" });
});

test("code that no release has is as it was before: the run fails when the overlap is over", async () => {
  const id = await monday.submit("job");
  await world.drain({ deps: monday.deps(inFolder) });
  await db.admin("truncate ghouls.workflows");
  await later(tuesday, inFolder);
  expect(await world.view(id)).toMatchObject({
    status: "FAILED",
    error: { code: "workflow_changed", message: expect.stringContaining("there is no release of it") },
  });
});

test("code that accepts the digest comes before its release", async () => {
  const accepting = await buildDeploy(world, "accepting", {
    ...jobOf("friday"),
    "job.ts": jobOf("friday")["job.ts"].replace(
      "input: z.unknown(),",
      `input: z.unknown(), accepts: ["${monday.digests["job@1"]}"],`,
    ),
  });
  const [id = ""] = await parkedUnder(monday, inFolder);
  await later(accepting, inFolder);
  expect(await world.view(id)).toMatchObject({ status: "DONE", output: ["monday", "late friday"] });
});

describe("a release that cannot be loaded", () => {
  const broken = {
    ...jobOf("broken"),
    "words.ts": `if (process.env["GHOULS_TEST_SWITCH"] === "off") throw new Error("switched off");
export const word: string = "broken";\n`,
  };

  test("is refused in its own words", async () => {
    const deploy = await buildDeploy(world, "switch", broken);
    const [id = ""] = await parkedUnder(deploy, inFolder);
    process.env["GHOULS_TEST_SWITCH"] = "off";
    try {
      await later(tuesday, inFolder);
    } finally {
      delete process.env["GHOULS_TEST_SWITCH"];
    }
    expect((await world.view(id)).quarantine?.reason).toContain(
      "its code cannot be loaded: Error: switched off",
    );
    await world.control.clear(SOMEBODY, id, "switched on again");
    await later(tuesday, inFolder, 60);
    expect(await world.view(id)).toMatchObject({ status: "DONE" });
  });

  test.each([
    ["no JSON", () => "{"],
    ["another format", (text: string) => text.replace('"format":1', '"format":2')],
    ["a way out of its folder", (text: string) => text.replace('"index.mjs":', '"../index.mjs":')],
    [
      "other words about its digest",
      (text: string) => text.replace('"modules":[[', '"modules":[["x.ts","' + "0".repeat(64) + '"],['),
    ],
  ])("is refused with %s, though its bytes are those that were recorded", async (_what, change) => {
    const [id = ""] = await parkedUnder(monday, inFolder);
    const text = change(monday.made[0]?.text ?? "");
    expect(text).not.toBe(monday.made[0]?.text);
    const { sha256 } = await import("@ghouls/core");
    const bundle = sha256(text);
    await inFolder.put(bundle, Buffer.from(text));
    await db.admin("update ghouls.releases set bundle_digest = $1", [bundle]);
    await later(tuesday, inFolder);
    expect((await world.view(id)).quarantine?.reason).toMatch(
      /is no release of this version|what it is not made of/,
    );
  });
});

describe("the whole of a workflow", () => {
  const rich = (word: string) => ({
    "rich.ts": `import { NonRetryableError, notDone, workflow } from "ghouls";
import * as z from "zod";
import { signer } from "./signer.ts";
const word = ${JSON.stringify(word)};
const said: string[] = ((globalThis as { said?: string[] }).said ??= []);
export const child = workflow({
  name: "child", version: 1, onWorkerLoss: "resume", input: z.object({ from: z.string() }),
  run: async (ctx, { from }) => ctx.step("child", () => "child of " + from + " by " + word),
});
export const rich = workflow({
  name: "rich", version: 1, onWorkerLoss: "resume", input: z.object({ how: z.string() }),
  async run(ctx, { how }) {
    if (how === "plain") {
      await ctx.sleep("1h");
      return ctx.step("no", () => { throw new NonRetryableError("plainly not " + word); });
    }
    await ctx.step("undoable", () => word, { undo: async () => void said.push("undone by " + word) });
    await ctx.sleep("1h");
    if (how === "child") return ctx.child(child, { from: word });
    if (how === "delegate") return ctx.delegate("sign", signer, { document: word });
    if (how === "throws") await ctx.step("no", () => { throw new NonRetryableError("not " + word); }, { tries: 3 });
    if (how === "once") return ctx.step("once", () => { throw notDone(new Error("not yet")); }, { effect: "once" });
    await ctx.sleep("1h");
    return word;
  },
});
`,
    "signer.ts": `import { httpService } from "ghouls";
import * as z from "zod";
export const signer = httpService({ url: "https://signer.example/jobs", request: z.object({ document: z.string() }), result: z.unknown() });
`,
    "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { child, rich } from "./rich.ts";
import { signer } from "./signer.ts";
export default defineConfig({ workflows: [child, rich], services: { signer } });
`,
  });
  let before: Deploy;
  let after: Deploy;
  beforeEach(async () => {
    before ??= await buildDeploy(world, "before", rich("before"));
    after ??= await buildDeploy(world, "after", rich("after"));
  });
  async function parked(how: string): Promise<string> {
    await publish(world, before, inFolder);
    const id = await before.submit("rich", { how });
    await world.drain({ deps: before.deps(inFolder) });
    await publish(world, after, inFolder);
    return id;
  }

  test("starts its children under the code that it came with, whose release stays as long as its own", async () => {
    const id = await parked("child");
    await db.admin("truncate ghouls.workflows");
    await world.advance(40 * 86_400);
    // Nobody is pinned to the child yet; the code that may start it is.
    await publish(world, after, inFolder);
    await world.advance(2 * 86_400);
    expect(await removeReleases(86_400_000, { ledger, store: inFolder })).toMatchObject({ removed: 0 });
    for (let n = 0; n < 3; n += 1) await later(after, inFolder, 60);
    expect(await world.view(id)).toMatchObject({
      status: "DONE",
      output: { outcome: "DONE", result: "child of before by before" },
    });
  });

  test("delegates to the service that asks the same executor", async () => {
    const id = await parked("delegate");
    const { signer } = after.config.services;
    const services = { signer: { ...signer, ...pick(service) } } as never;
    const delegation = { ...world.deps.delegation, services };
    await world.advance(3_700);
    await world.reconcile();
    await world.drain({ deps: { ...after.deps(inFolder), delegation } });
    const { attemptId } = await world.onlyAttempt();
    expect(await world.attempts.get("acme", attemptId)).toMatchObject({
      service: "signer",
      request: { document: "before" },
    });
    expect(await world.view(id)).toMatchObject({ status: "AWAITING_DELEGATE" });
  });

  const twoServices = (word: string) => ({
    ...rich(word),
    "rich.ts": rich(word)["rich.ts"].replace(
      'return ctx.delegate("sign", signer, { document: word });',
      `return (await Promise.all([ctx.delegate("sign", signer, { document: word }), ctx.sleep("1h", { name: "beside" })]))[0];`,
    ),
    "ghouls.config.ts": `import { defineConfig, httpService } from "ghouls";
import * as z from "zod";
import { child, rich } from "./rich.ts";
import { signer } from "./signer.ts";
const auditor = httpService({ url: "https://signer.example/jobs", headers: () => ({ authorization: "auditor" }), request: z.unknown(), result: z.unknown() });
export default defineConfig({ workflows: [child, rich], services: { auditor, signer } });
`,
  });
  const bothOf = (deploy: Deploy) => {
    const { signer, auditor } = deploy.config.services;
    Object.assign(signer as object, pick(service));
    const services = { auditor, signer } as never;
    return { ...deploy.deps(inFolder), delegation: { ...world.deps.delegation, services } };
  };

  test("where two services ask the same executor, it goes on with what was begun, and guesses no credentials", async () => {
    const [old, next] = await Promise.all(
      ["two", "three"].map((word) => buildDeploy(world, word, twoServices(word))),
    );
    if (!old || !next) throw new Error("no builds");
    await publish(world, old, inFolder);
    const begun = await old.submit("rich", { how: "delegate" });
    await world.drain({ deps: bothOf(old) });
    await world.advance(3_700);
    await world.reconcile();
    await world.drain({ deps: bothOf(old) });
    const { attemptId } = await world.onlyAttempt();
    const anew = await old.submit("rich", { how: "delegate" });
    await world.drain({ deps: bothOf(old) });
    await publish(world, next, inFolder);
    await world.advance(3_700);
    await world.reconcile();
    await world.drain({ deps: bothOf(next) });
    expect(await world.attempts.get("acme", attemptId)).toMatchObject({ service: "signer" });
    expect(await world.view(begun)).toMatchObject({ status: "AWAITING_DELEGATE" });
    // Nothing was asked of the one that it does not mean.
    expect(await world.onlyAttempt()).toMatchObject({ attemptId });
    for (let n = 0; n < 4; n += 1) {
      await world.advance(60);
      await world.reconcile();
      await world.drain({ deps: bothOf(next) });
    }
    expect(await world.view(anew)).toMatchObject({
      status: "FAILED",
      error: { message: expect.stringContaining("several services of the configuration (auditor, signer)") },
    });
  });

  test("asks nobody else where the configuration has that executor no more", async () => {
    const id = await parked("delegate");
    await world.advance(3_700);
    await world.reconcile();
    for (let n = 0; n < 4; n += 1) await later(after, inFolder, 60);
    expect(await world.view(id)).toMatchObject({
      status: "FAILED",
      error: { message: expect.stringContaining("is the executor that this release asks for") },
    });
  });

  test("throws errors that the engine knows", async () => {
    const id = await parked("throws");
    await later(after, inFolder);
    expect(await world.view(id)).toMatchObject({ error: { message: expect.stringContaining("not before") } });
    // One try of three: the error said that there is no use in another.
    expect((await ledger.journal.read({ tenantId: "acme", runId: id }, 0)).at(-1)).toMatchObject({
      name: "no",
    });
    const once = await parked("once");
    await later(after, inFolder);
    expect((await world.view(once)).error).not.toMatchObject({ code: "effect_unknown" });
  });

  test("undoes what it has done when its run is cancelled, with its own code", async () => {
    const said = ((globalThis as { said?: string[] }).said ??= []);
    said.length = 0;
    const id = await parked("wait");
    await world.control.cancel(SOMEBODY, id, "not wanted");
    for (let n = 0; n < 4; n += 1) await later(after, inFolder, 60);
    expect(await world.view(id)).toMatchObject({ status: "CANCELLED" });
    expect(said).toEqual(["undone by before"]);
  });

  test("its ending waits for a release that cannot be read, with attention", async () => {
    const id = await parked("wait");
    await world.control.cancel(SOMEBODY, id, "not wanted");
    fails = () => {
      throw new Error("no route to the store");
    };
    for (let n = 0; n < 2; n += 1) await later(after, inFolder, 60);
    expect(await world.view(id)).toMatchObject({
      status: "CANCELLING",
      attention: { reason: expect.stringContaining("cannot be read") },
    });
    fails = noFaults;
    await world.control.clear(SOMEBODY, id, "it answers again");
    for (let n = 0; n < 4; n += 1) await later(after, inFolder, 60);
    expect(await world.view(id)).toMatchObject({ status: "CANCELLED" });
  });

  test("is redriven on its own code, where no other carries it on", async () => {
    const id = await parked("plain");
    for (let n = 0; n < 3; n += 1) await later(after, inFolder);
    expect(await world.view(id)).toMatchObject({ status: "FAILED" });
    const { createAdmission, createAnnouncement } = await import("@ghouls/engine");
    const { registry } = after;
    const admission = createAdmission({
      ...world.deps,
      registry,
      queue: world.queue,
      announce: createAnnouncement({ ledger, registry, capacities: {}, build: "after" }),
      route: undefined,
      queues: ["runs"],
    });
    const redriven = await admission.redrive(SOMEBODY, id, "try again");
    expect(redriven.workflow.digest).toBe(before.digests["rich@1"]);
    await later(after, inFolder, 0);
    expect(await world.view(redriven.runId)).toMatchObject({
      status: "FAILED",
      error: { message: expect.stringContaining("plainly not before") },
    });
    // A clean-up that comes between the look at the release and the commit.
    await world.advance(40 * 86_400);
    await db.admin("truncate ghouls.workflows");
    const late = createAdmission({
      ...world.deps,
      registry,
      queue: world.queue,
      announce: async () => {
        expect(await removeReleases(86_400_000, { ledger, store: inFolder })).not.toMatchObject({
          removed: 0,
        });
      },
      route: undefined,
      queues: ["runs"],
    });
    await expect(late.redrive(SOMEBODY, redriven.runId, "again")).rejects.toMatchObject({
      code: "not_redrivable",
    });
    await db.admin("update ghouls.releases set removed_at = ghouls.clock()");
    await expect(admission.redrive(SOMEBODY, redriven.runId, "again")).rejects.toMatchObject({
      code: "not_redrivable",
      issues: [{ path: "/workflow_changed", message: expect.anything() }],
    });
  });
});

function pick({ submit, lookUp, cancel }: typeof service) {
  return { submit, lookUp, cancel };
}

describe("a folder", () => {
  test("is private, and keeps nothing of a write that failed", async () => {
    const place = join(await folder(), "deep", "releases");
    const store = openReleaseStore(place, connection, noFaults);
    await store.put("a".repeat(64), Buffer.from("one"));
    await store.put("a".repeat(64), Buffer.from("two"));
    expect(await readFile(join(place, `${"a".repeat(64)}.json`), "utf8")).toBe("two");
    await rm(place, { recursive: true });
    await writeFile(place, "a file");
    await expect(store.put("b".repeat(64), Buffer.from("x"))).rejects.toThrow(/EEXIST|ENOTDIR/);
    await expect(store.get("b".repeat(64))).rejects.toThrow("ENOTDIR");
  });

  test.each(["releases", "s3:/one", "s3://A", "https://x", ""])("%j is no place", (place) => {
    expect(() => openReleaseStore(place, connection, noFaults)).toThrow("neither a bucket nor a folder");
  });
});

test("a deploy is refused whose bundle a clean-up takes out while it is recorded", async () => {
  for (const { bundle, text } of monday.made) await inFolder.put(bundle, Buffer.from(text));
  const { recordReleases } = await import("../../packages/ghouls/src/releases/publishing.ts");
  const record: typeof ledger.releases.record = async (...args) => {
    const added = await ledger.releases.record(...args);
    await inFolder.delete(bundleOf(monday));
    return added;
  };
  const places = { ledger: { releases: { ...ledger.releases, record } }, store: inFolder };
  await expect(recordReleases([bundleOf(monday)], "monday", places)).rejects.toThrow("any more");
});
