import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestManifest, loadConfig } from "ghouls";
import { testDatabase } from "../support/database.ts";
import { testQueue } from "../support/queue.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [db, sqs] = await Promise.all([testDatabase(), testQueue()]);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ghouls-functions-"));
  process.env["DATABASE_URL"] = db.applicationUrl;
  process.env["AWS_ENDPOINT_URL"] = sqs.endpoint;
  process.env["GHOULS_QUEUE_RUNS_URL"] = sqs.urls["runs"];
  process.env["AWS_ACCESS_KEY_ID"] = "test";
  process.env["AWS_SECRET_ACCESS_KEY"] = "test";
  process.env["GHOULS_DEV_TOKENS"] = JSON.stringify({
    "a-token-of-the-local-host": { tenantId: "default", subject: "dev", roles: ["operator"] },
  });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A function as a deployment bundles it: one file, with the user's configuration in the place of `#config`. */
async function bundled(
  name: string,
  config: string,
  manifest = join(root, "packages/functions/src/manifest.ts"),
): Promise<{ handler: (event: unknown, context: unknown) => Promise<unknown> }> {
  const outfile = join(folder, `${name}-${Math.random().toString(36).slice(2)}.mjs`);
  await build({
    entryPoints: [join(root, `packages/functions/src/${name}.ts`)],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    outfile,
    alias: { "#config": config, "#manifest": manifest },
    external: ["esbuild", "pg-native"],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    logLevel: "silent",
  });
  return (await import(pathToFileURL(outfile).href)) as never;
}

const event = (method: string, path: string, body?: string) => ({
  version: "2.0",
  routeKey: "$default",
  rawPath: path,
  rawQueryString: "",
  headers: { "content-type": "application/json", authorization: "Bearer a-token-of-the-local-host" },
  requestContext: { domainName: "x", http: { method, path, sourceIp: "127.0.0.1" } },
  ...(body === undefined ? {} : { body: Buffer.from(body).toString("base64") }),
  isBase64Encoded: body !== undefined,
});
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 900_000 };

test("the four functions, bundled as for Lambda, carry a run from an API Gateway event to its end", async () => {
  const config = join(folder, "ghouls.config.ts");
  await writeFile(
    config,
    `import { defineConfig, workflow } from ${JSON.stringify(join(root, "packages/ghouls/src/index.ts"))};
import * as z from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
const hello = workflow({ name: "hello", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  async run(ctx, { name }) { return ctx.step("greet", () => "Hello, " + name + "."); } });
export default defineConfig({ workflows: [hello] });`,
  );
  const manifest = join(folder, "manifest.json");
  await writeFile(manifest, JSON.stringify(await digestManifest((await loadConfig(config)).config)));
  const [admission, api, worker, reconciler] = await Promise.all(
    ["admission", "api", "worker", "reconciler"].map((name) => bundled(name, config, manifest)),
  );

  const admitted = (await admission?.handler(
    event("POST", "/v1/runs", JSON.stringify({ workflow: "hello", input: { name: "Ada 🧟" } })),
    context,
  )) as { statusCode: number; body: string };
  expect(admitted.statusCode).toBe(202);
  const { runId } = JSON.parse(admitted.body) as { runId: string };

  expect(await reconciler?.handler({}, context)).toMatchObject({ relay: { due: 0 } });
  const records = [
    {
      messageId: "m",
      receiptHandle: "h",
      body: `run:${runId}:1`,
      eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
    },
    {
      messageId: "poison",
      receiptHandle: "h",
      body: "?",
      eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:runs",
    },
  ];
  expect(await worker?.handler({ Records: records }, context)).toEqual({
    batchItemFailures: [{ itemIdentifier: "poison" }],
  });
  const shown = (await api?.handler(event("GET", `/v1/runs/${runId}`), context)) as { body: string };
  expect(JSON.parse(shown.body)).toMatchObject({ status: "DONE", output: "Hello, Ada 🧟." });
});

test("a function whose manifest lacks a workflow refuses to start instead of pinning another digest", async () => {
  const { handler } = await bundled("worker", join(folder, "ghouls.config.ts"));
  await expect(handler({ Records: [] }, context)).rejects.toThrow(/manifest has no workflow hello@1/);
});

test("a function without a configuration says so instead of running none", async () => {
  await expect(
    bundled("worker", join(root, "packages/functions/src/config.ts")).then(({ handler }) =>
      handler({ Records: [{}] }, context),
    ),
  ).rejects.toThrow(/bundled without a configuration/);
});
