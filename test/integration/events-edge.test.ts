import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { createClient, RunEndedError } from "@ghouls/client";
import { createFetch, createReconciler, createWorker, defineConfig, digestManifest, workflow } from "ghouls";
import { afterAll, beforeEach, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { testDynamo } from "../support/dynamodb.ts";
import { makeKey } from "../support/keys.ts";
import { CREDENTIALS } from "../support/queue.ts";
import { testWorld } from "../support/world.ts";

/** Answers when the test lets it. */
let gate = Promise.withResolvers<void>();
const story = workflow({
  name: "tell-story",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ words: z.number(), voice: z.string().default("low") }),
  output: z.object({ told: z.number() }),
  run: async (ctx, { words }) => {
    const told = await ctx.step("tell", async () => {
      for (let at = 0; at < words; at += 1) {
        ctx.stream("tokens", `${at} `);
        if (at % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await gate.promise;
      return words;
    });
    if (words === 0) throw new Error("nothing to tell");
    return { told };
  },
});
const workflows = { story, notAWorkflow: 1 };
const config = defineConfig({ workflows: [story] });
const [world, dynamo] = await Promise.all([testWorld({ workflows: [story] }), testDynamo()]);
const { text: token } = await makeKey(world.db, { tenantId: "acme", subject: "dev", roles: ["operator"] });
process.env["AWS_ACCESS_KEY_ID"] = CREDENTIALS.accessKeyId;
process.env["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS.secretAccessKey;
const overrides = {
  manifest: await digestManifest(config),
  write: () => undefined,
  variables: {
    DATABASE_URL: world.db.applicationUrl,
    AWS_ENDPOINT_URL: world.sqs.endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_REGION: "us-east-1",
    EVENTS_TABLE: dynamo.table,
    GHOULS_HINT: "0",
    GHOULS_QUEUE_RUNS_URL: world.sqs.urls["runs"],
    GHOULS_QUEUE_RITES_URL: world.sqs.urls["rites"],
  },
};
const server = createAdaptorServer({ fetch: createFetch(config, overrides) }) as Server;
server.listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const worker = createWorker(config, overrides);
const reconciler = createReconciler(config, overrides);
const context = { awsRequestId: "r", getRemainingTimeInMillis: () => 600_000 };

beforeEach(async () => {
  gate = Promise.withResolvers();
  await world.reset();
});

/** Carries one message, as Lambda would. */
async function carry(): Promise<void> {
  const [message] = await world.queue.receive("runs", { max: 1, waitSeconds: 5 });
  if (message === undefined) throw new Error("nothing was published");
  const arn = `arn:aws:sqs:us-east-1:0:${new URL(world.sqs.urls["runs"] ?? "").pathname.split("/").at(-1)}`;
  await worker({ Records: [{ ...message, eventSourceARN: arn }] }, context);
}

const clientOf = (streams: boolean) =>
  createClient<typeof workflows>({ baseUrl, token, ...(streams ? { eventsUrl: baseUrl } : {}) });

test.each([
  ["a stream", true],
  ["polls", false],
])(
  "a page that is closed and opened again in the middle of %s of tokens misses nothing and repeats nothing",
  async (_, streams) => {
    const client = clientOf(streams);
    const run = await client.start("tell-story", { words: 2_000 });
    const carrying = carry();
    const words: string[] = [];
    const rest: string[] = [];
    let after: string | undefined;
    const look = async (enough: number): Promise<boolean> => {
      const opened = clientOf(streams).run(run.id);
      for await (const { id, events } of opened.batches(after === undefined ? {} : { after })) {
        for (const event of events) {
          if (event.kind === "chunk") words.push(event.chunk);
          else rest.push(event.kind);
        }
        after = id;
        if (words.length === 2_000) gate.resolve();
        if (words.length >= enough && words.length < 2_000) return false;
      }
      return true;
    };
    for (let enough = 1; !(await look(enough)); enough = words.length + 200);
    expect(words).toEqual(Array.from({ length: 2_000 }, (_word, at) => `${at} `));
    expect(rest).toEqual(["admitted", "published", "claimed", "step", "settled", "finished"]);
    await carrying;
    expect(await run.result()).toEqual({ told: 2_000 });
  },
);

test("a client knows the workflows of a module: their names, what they are asked with, and what they give", async () => {
  const client = clientOf(true);
  gate.resolve();
  const run = await client.start("tell-story", { words: 0 }, { idempotencyKey: "once" });
  expectTypeOf<Awaited<ReturnType<typeof run.result>>>().toEqualTypeOf<{ told: number }>();
  expect((await client.start("tell-story", { words: 0 }, { idempotencyKey: "once" })).created).toBe(false);
  // @ts-expect-error -- there is no such workflow
  await expect(client.start("tell-tale", {})).rejects.toMatchObject({ code: "unknown_workflow" });
  // @ts-expect-error -- a word is no number
  await expect(client.start("tell-story", { words: "many" })).rejects.toMatchObject({
    code: "input_invalid",
  });
  await carry();
  await expect(run.result()).rejects.toThrow(RunEndedError);
});

test("whoever looks on is told of an end that a person brings about, without waiting for anybody", async () => {
  const client = clientOf(true);
  const run = await client.start("tell-story", { words: 1 });
  const kinds: string[] = [];
  for await (const event of run.events()) {
    kinds.push(event.kind);
    if (event.kind === "published") await run.cancel("not needed");
  }
  expect(kinds).toEqual(["admitted", "published", "fenced", "finished"]);
  await reconciler({}, context);
});
