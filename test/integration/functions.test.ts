import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFunctions, type Built } from "@ghouls/functions";
import { emptyDatabase } from "../support/empty-database.ts";
import { makeRun } from "../support/factories.ts";
import { APPLICATION } from "../support/template.ts";
import { makeKey } from "../support/keys.ts";
import { testDatabase } from "../support/database.ts";
import { testQueue } from "../support/queue.ts";

/** The functions as a deployment bundles them, each loaded from its own folder. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const [db, empty, sqs] = await Promise.all([testDatabase(), emptyDatabase(), testQueue()]);
const { text: token } = await makeKey(db, { tenantId: "default", subject: "dev", roles: ["operator"] });
let folder: string;
let built: Built;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ghouls-functions-"));
  process.env["DATABASE_URL"] = db.applicationUrl;
  process.env["GHOULS_MIGRATION_DATABASE_URL"] = empty.migratorUrl;
  process.env["GHOULS_APPLICATION_ROLE"] = APPLICATION.name;
  process.env["AWS_ENDPOINT_URL"] = sqs.endpoint;
  process.env["GHOULS_QUEUE_RUNS_URL"] = sqs.urls["runs"];
  process.env["AWS_ACCESS_KEY_ID"] = "test";
  process.env["AWS_SECRET_ACCESS_KEY"] = "test";
  const config = join(folder, "ghouls.config.ts");
  await writeFile(
    config,
    `import { defineConfig, workflow } from ${JSON.stringify(join(root, "packages/ghouls/src/index.ts"))};
import * as z from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
const hello = workflow({ name: "hello", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  async run(ctx, { name }) { return ctx.step("greet", () => "Hello, " + name + "."); } });
export default defineConfig({ workflows: [hello], capacities: { gpu: 2 } });`,
  );
  built = await buildFunctions({ config, out: join(folder, "built") });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
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
  test("lets a deploy go on over what only asks for a person", async () => {
    const run = await makeRun(db);
    await db.admin(
      "update ghouls.runs set attention_reason = 'by a test', attention_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    expect(await (await load("preflight"))({})).toMatchObject({
      attention: { "no open run asks for a person": 1 },
    });
  });

  test("says how many units there are of each capacity of its configuration, whatever was said before", async () => {
    await db.admin("update ghouls.capacities set units = 7");
    await (
      await load("preflight")
    )({});
    expect(await db.admin("select name, units from ghouls.capacities")).toEqual([{ name: "gpu", units: 2 }]);
  });

  test("stops a deploy where the ledger contradicts itself, and names the runs", async () => {
    const run = await makeRun(db);
    await db.admin("update ghouls.deliveries set next_publication_at = null where run_id = $1", [run.runId]);
    await expect((await load("preflight"))({})).rejects.toMatchObject({
      code: "integrity_fault",
      message: expect.stringContaining(`pending deliveries have a next publication (${run.runId})`),
    });
    await db.admin("update ghouls.deliveries set next_publication_at = ghouls.clock() where run_id = $1", [
      run.runId,
    ]);
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
