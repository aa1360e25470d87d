import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { GhoulsError } from "@ghouls/core";
import { buildFunctions, type Built } from "@ghouls/functions";
import { emptyDatabase } from "../support/empty-database.ts";
import { makeRun } from "../support/factories.ts";
import { APPLICATION } from "../support/template.ts";
import { makeKey } from "../support/keys.ts";
import { testDatabase } from "../support/database.ts";
import { project } from "../support/deploys.ts";
import { testQueue } from "../support/queue.ts";

/** The functions as a deployment bundles them, each loaded from its own folder. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const [db, empty, sqs] = await Promise.all([testDatabase(), emptyDatabase(), testQueue()]);
const { text: token } = await makeKey(db, { tenantId: "default", subject: "dev", roles: ["operator"] });
let folder: string;
let built: Built;

beforeAll(async () => {
  process.env["DATABASE_URL"] = db.applicationUrl;
  process.env["GHOULS_MIGRATION_DATABASE_URL"] = empty.migratorUrl;
  process.env["GHOULS_APPLICATION_ROLE"] = APPLICATION.name;
  process.env["AWS_ENDPOINT_URL"] = sqs.endpoint;
  process.env["GHOULS_QUEUE_RUNS_URL"] = sqs.urls["runs"];
  process.env["AWS_ACCESS_KEY_ID"] = "test";
  process.env["AWS_SECRET_ACCESS_KEY"] = "test";
  folder = await project({
    "ghouls.config.ts": `import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
const hello = workflow({ name: "hello", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  async run(ctx, { name }) { return ctx.step("greet", () => "Hello, " + name + "."); } });
export default defineConfig({ workflows: [hello], capacities: { gpu: 2 } });`,
  });
  const config = join(folder, "ghouls.config.ts");
  built = await buildFunctions({ config, out: join(folder, "built") });
});
type Handler = (event: unknown, context?: unknown) => Promise<unknown>;

/** A fresh instance, as an execution environment begins. */
async function load(entry: string): Promise<Handler> {
  const one = built.functions.find((fn) => fn.entry === entry);
  const url = `${pathToFileURL(join(one?.folder ?? "", "index.mjs")).href}?${Math.random()}`;
  return ((await import(url)) as { handler: Handler }).handler;
}

const event = (method: string, path: string, body?: string) => ({
  version: "2.0",
  routeKey: "$default",
  rawPath: path,
  rawQueryString: "",
  headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
  requestContext: { domainName: "x", http: { method, path, sourceIp: "127.0.0.1" } },
  ...(body === undefined ? {} : { body: Buffer.from(body).toString("base64") }),
  isBase64Encoded: body !== undefined,
});
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 900_000 };

test("the functions carry a run from an API Gateway event to its end", async () => {
  const [admission, api, worker, reconciler] = await Promise.all(
    ["admission", "api", "worker", "reconciler"].map(load),
  );
  const admitted = (await admission?.(
    event("POST", "/v1/runs", JSON.stringify({ workflow: "hello", input: { name: "Ada 🧟" } })),
    context,
  )) as { statusCode: number; body: string };
  expect(admitted.statusCode).toBe(202);
  const { runId, workflow } = JSON.parse(admitted.body) as { runId: string; workflow: { digest: string } };
  expect(workflow.digest).toBe(built.workflows["hello@1"]);

  expect(await reconciler?.({}, context)).toMatchObject({ relay: { found: 0 } });
  const records = [`run:${runId}:1`, "?"].map((body, at) => ({
    messageId: `m${at}`,
    receiptHandle: "h",
    body,
    eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
  }));
  expect(await worker?.({ Records: records }, context)).toEqual({
    batchItemFailures: [{ itemIdentifier: "m1" }],
  });
  const shown = (await api?.(event("GET", `/v1/runs/${runId}`), context)) as { body: string };
  expect(JSON.parse(shown.body)).toMatchObject({ status: "DONE", output: "Hello, Ada 🧟." });
});

describe("the migrate function", () => {
  test("brings an empty schema up to the build, and finds nothing to do the second time", async () => {
    const migrate = await load("migrate");
    const first = (await migrate({})) as { applied: unknown[]; version: number };
    expect(first.applied).toHaveLength(first.version);
    expect(await migrate({})).toEqual({ applied: [], version: first.version });
    const [row] = await empty.admin<{ newest: number }>(
      "select max(number) as newest from ghouls.migrations",
    );
    expect(row?.newest).toBe(first.version);
  });

  test("says which variable is missing, and repeats no value", async () => {
    const given = process.env["GHOULS_MIGRATION_DATABASE_URL"];
    delete process.env["GHOULS_MIGRATION_DATABASE_URL"];
    await expect((await load("migrate"))({})).rejects.toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining("GHOULS_MIGRATION_DATABASE_URL"),
    });
    process.env["GHOULS_MIGRATION_DATABASE_URL"] = given;
  });
});

describe("the preflight function", () => {
  const preflight = async () => (await load("preflight"))({});
  const ours = () => ({ digest: built.workflows["hello@1"] as string });
  const refused = async () =>
    preflight().then(
      () => undefined,
      (error: unknown) => error as GhoulsError,
    );
  const acknowledge = async () => {
    const ledger = db.ledger();
    const rows = await db.admin<{ fault_id: string }>("select fault_id from ghouls.integrity_faults");
    for (const row of rows)
      await ledger.integrity.acknowledge(row.fault_id, { actor: "ada", reason: "known" });
  };
  afterEach(async () => {
    await db.admin("truncate ghouls.runs, ghouls.integrity_faults cascade");
  });

  test("lets a deploy go on over what only asks for a person", async () => {
    const run = await makeRun(db, ours());
    await db.admin(
      "update ghouls.runs set attention_reason = 'by a test', attention_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    expect(await preflight()).toMatchObject({
      judged: 13,
      states: expect.arrayContaining([{ status: "QUEUED", runs: 1, checked: 1, faulty: 0 }]),
      attention: { "no open run asks for a person": 1 },
      table: expect.arrayContaining(["refused: 0"]),
    });
  });

  test("says how many units there are of each capacity of its configuration, whatever was said before", async () => {
    await db.admin("update ghouls.capacities set units = 7, said_at = ghouls.clock()");
    await preflight();
    expect(await db.admin("select name, units from ghouls.capacities")).toEqual([{ name: "gpu", units: 2 }]);
  });

  test("stops a deploy where the ledger contradicts itself, names the runs, and says nothing of capacities", async () => {
    await db.admin("update ghouls.capacities set units = 7, said_at = ghouls.clock()");
    const run = await makeRun(db, ours());
    await db.admin("update ghouls.deliveries set next_publication_at = null where run_id = $1", [run.runId]);
    for (let times = 0; times < 2; times += 1) {
      expect(await refused()).toMatchObject({
        code: "integrity_fault",
        message: `the ledger contradicts itself, so no code is switched: not so: pending deliveries have a next publication (${run.runId})`,
        fix: expect.stringContaining("ghouls doctor --acknowledge <fault>"),
        issues: [
          {
            message: expect.stringContaining(
              `not so: pending deliveries have a next publication (${run.runId}): {`,
            ),
          },
        ],
      });
    }
    expect(await db.admin("select units from ghouls.capacities")).toEqual([{ units: 7 }]);
    await acknowledge();
    expect(await preflight()).toMatchObject({ acknowledged: 1 });
  });

  test("stops a deploy that would leave open runs without their code, whose tenant ever, until somebody knows of it", async () => {
    await makeRun(db, ours());
    const run = await makeRun(db, { tenantId: "umbrella", digest: "old" });
    const refusal = await refused();
    expect(refusal).toMatchObject({
      code: "integrity_fault",
      message:
        "open runs have their code neither in this build nor in a release, so no code is switched: not so: every open run has its code in this build or a release (hello@1 old)",
    });
    for (const way of ["accepts", "wait", "ghouls cancel", "acknowledge"])
      expect(refusal?.fix).toContain(way);
    await acknowledge();
    expect(await preflight()).toMatchObject({ acknowledged: 1 });
    // It waits for its code, and is no more quarantined than it was.
    expect(await db.admin("select quarantined_at from ghouls.runs where run_id = $1", [run.runId])).toEqual([
      { quarantined_at: null },
    ]);
  });

  describe("told where releases lie", () => {
    let place: string;
    beforeEach(async () => {
      place = await mkdtemp(join(folder, "store-"));
      process.env["GHOULS_RELEASES"] = place;
    });
    afterEach(async () => {
      delete process.env["GHOULS_RELEASES"];
      await db.admin("truncate ghouls.releases");
    });
    const [own] = [() => built.releases[0] as Built["releases"][number]];
    /** Code that was deployed long ago, and replaced long ago too. */
    const deployedBefore = async (bundle: string) => {
      for (const [digest, build, days] of [
        ["old", "monday", 90],
        ["newer", "tuesday", 60],
      ] as const)
        await db.admin(
          `insert into ghouls.releases
           select workflow_name, workflow_version, $1, $2, bytes, on_worker_loss, deadline_ms, basis_text, starts, $3,
             recorded_at - $4 * interval '1 day', deployed_at - $4 * interval '1 day'
           from ghouls.releases where workflow_digest not in ('old', 'newer')`,
          [digest, digest === "old" ? bundle : "f".repeat(64), build, days],
        );
    };
    const upload = async () => {
      for (const { bundle, file } of built.releases) await copyFile(file, join(place, `${bundle}.json`));
    };

    test("records what the deploy has put there, and says which runs ride on which release", async () => {
      await upload();
      expect(await preflight()).toMatchObject({
        releases: { recorded: 1, removed: 0, ridden: [], missing: [] },
        table: expect.arrayContaining(["releases: 1 new, 0 removed"]),
      });
      expect(await preflight()).toMatchObject({ releases: { recorded: 0 } });
      await makeRun(db, { digest: "old" });
      await db.admin("update ghouls.runs set workflow_digest = 'old'");
      await deployedBefore("e".repeat(64));
      const report = (await preflight()) as { table: string[] };
      expect(report).toMatchObject({
        releases: {
          removed: 0,
          ridden: [{ workflow: { name: "hello", version: 1, digest: "old" }, build: "monday", runs: 1 }],
        },
      });
      expect(report.table).toContain("  hello@1 old: 1 run rides on its release of build monday");
      await db.admin("truncate ghouls.runs cascade");
      expect(await preflight()).toMatchObject({ releases: { removed: 1, deleted: 1 } });
    });

    test("stops a deploy whose releases are not there, or were altered on their way", async () => {
      expect(await refused()).toMatchObject({
        code: "configuration_invalid",
        message: `the release ${own().bundle} is not in ${place}`,
        fix: expect.stringContaining("ghouls workflows publish"),
      });
      await writeFile(join(place, `${own().bundle}.json`), "{}");
      expect(await refused()).toMatchObject({ message: expect.stringContaining("was altered") });
      expect(await db.admin("select from ghouls.releases")).toEqual([]);
    });

    test("goes on where a clean-up does not succeed, and the next one does it", async () => {
      await upload();
      await preflight();
      const bundle = "e".repeat(64);
      await deployedBefore(bundle);
      // A folder is nothing that a bundle's name is removed as.
      await mkdir(join(place, `${bundle}.json`, "x"), { recursive: true });
      expect(await preflight()).toMatchObject({ releases: { removed: 0, deleted: 0 } });
      await rm(join(place, `${bundle}.json`), { recursive: true });
      expect(await preflight()).toMatchObject({ releases: { removed: 0, deleted: 1 } });
    });
  });

  test("says that it was not told where releases lie", async () => {
    expect(await preflight()).toMatchObject({
      releases: null,
      table: expect.arrayContaining([expect.stringContaining("GHOULS_RELEASES")]),
    });
  });

  test("lets a deploy go on that accepts the code of open runs", async () => {
    const accepting = join(folder, "accepting.config.ts");
    const text = await readFile(join(folder, "ghouls.config.ts"), "utf8");
    await writeFile(accepting, text.replace("version: 1,", `version: 1, accepts: ["${"a".repeat(64)}"],`));
    const other = await buildFunctions({ config: accepting, out: join(folder, "accepting") });
    const { folder: at } = other.functions.find(({ entry }) => entry === "preflight") as { folder: string };
    const { handler } = (await import(pathToFileURL(join(at, "index.mjs")).href)) as { handler: Handler };
    await makeRun(db, { digest: "a".repeat(64) });
    expect(await refused()).toMatchObject({ code: "integrity_fault" });
    expect(await handler({})).toMatchObject({ acknowledged: 0 });
  });
});

describe("a function that somebody else bundles", () => {
  const bundled = async (name: string, config: string): Promise<Handler> => {
    const outfile = join(folder, `${name}-alone.mjs`);
    await build({
      entryPoints: [join(root, `packages/functions/src/${name}.ts`)],
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node24",
      outfile,
      alias: { "#config": config },
      external: ["esbuild", "pg-native"],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      logLevel: "silent",
    });
    return ((await import(pathToFileURL(outfile).href)) as { handler: Handler }).handler;
  };

  test("refuses to start without the digests of its workflows, instead of pinning others", async () => {
    const handler = await bundled("worker", join(folder, "ghouls.config.ts"));
    await expect(handler({ Records: [] }, context)).rejects.toThrow(/manifest has no workflow hello@1/);
  });

  test("says that it has no configuration, instead of running none", async () => {
    const handler = await bundled("reconciler", join(root, "packages/functions/src/config.ts"));
    await expect(handler({}, context)).rejects.toThrow(/bundled without a configuration/);
  });
});
