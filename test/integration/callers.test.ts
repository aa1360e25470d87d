import { drizzle } from "drizzle-orm/node-postgres";
import { sql as drizzled } from "drizzle-orm";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  createAdmitter,
  defineConfig,
  digestManifest,
  fromDrizzle,
  fromKysely,
  workflow,
  type Admitter,
} from "ghouls";
import { testWorld } from "../support/world.ts";

const any = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("done"),
});
const config = defineConfig({ workflows: [any] });
const manifest = await digestManifest(config);
const world = await testWorld({ workflows: [any], digestOf: () => manifest["any@1"] ?? "" });
const admitter = createAdmitter(config, {
  manifest,
  write: () => undefined,
  variables: {
    DATABASE_URL: world.db.applicationUrl,
    AWS_ENDPOINT_URL: world.sqs.endpoint,
    AWS_REGION: "us-east-1",
    GHOULS_QUEUE_RUNS_URL: world.sqs.urls["runs"],
    GHOULS_QUEUE_RITES_URL: world.sqs.urls["rites"],
  },
});
await world.db.admin("create table orders (id text primary key)");
await world.db.admin("grant select, insert on orders to public");
const pool = new pg.Pool({ connectionString: world.db.applicationUrl, max: 2 });
pool.on("error", () => undefined);
pool.on("connect", (client) => client.on("error", () => undefined));
const viaDrizzle = drizzle(pool);
const viaKysely = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
afterAll(async () => {
  await admitter.close();
  await pool.end();
});

const ADA = { tenantId: "acme", subject: "user:ada", roles: ["operator"] };
type Admit = Parameters<Admitter["admit"]>[2];
const request = (id: string): Admit => ({
  workflow: "any",
  input: { id },
  labels: { order: id },
  idempotencyKey: `order-${id}`,
  startAfter: "1s",
});

/** One row and one run in one transaction of the library, which then ends as it is told. */
const libraries = {
  drizzle: (id: string, end: () => void) =>
    viaDrizzle.transaction(async (tx) => {
      await tx.execute(drizzled`insert into orders (id) values (${id})`);
      const receipt = await admitter.admit(fromDrizzle(tx), ADA, request(id));
      end();
      return receipt;
    }),
  kysely: (id: string, end: () => void) =>
    viaKysely.transaction().execute(async (trx) => {
      await sql`insert into orders (id) values (${id})`.execute(trx);
      const receipt = await admitter.admit(fromKysely(trx), ADA, request(id));
      end();
      return receipt;
    }),
};

beforeEach(async () => {
  await world.reset();
  await world.db.admin("delete from orders");
});

const rowsOf = async () => ({
  orders: (await world.db.admin("select id from orders")).map(({ id }) => id as string),
  runs: (await world.db.admin("select idempotency_key from ghouls.runs")).map(
    ({ idempotency_key: key }) => key as string,
  ),
});

describe.each(Object.entries(libraries))("in a transaction of %s", (_, order) => {
  test("a run and the caller's row commit together, and the run is carried once it is published", async () => {
    const receipt = await order("7", () => undefined);
    expect(await rowsOf()).toEqual({ orders: ["7"], runs: ["order-7"] });
    expect(await world.view(receipt.admitted.runId)).toMatchObject({
      status: "QUEUED",
      labels: { order: "7" },
    });
    await admitter.publish(receipt);
    await world.later(60);
    expect((await world.view(receipt.admitted.runId)).status).toBe("DONE");
  });

  test("a rollback leaves neither", async () => {
    const broken = order("8", () => {
      throw new Error("the order is not wanted");
    });
    await expect(broken).rejects.toThrow("the order is not wanted");
    expect(await rowsOf()).toEqual({ orders: [], runs: [] });
  });

  test("the same key is the same run, and another request under it a conflict that rolls all back", async () => {
    await order("9", () => undefined);
    await world.db.admin("delete from orders");
    expect((await order("9", () => undefined)).admitted.created).toBe(false);
    await world.db.admin("delete from orders");
    await world.db.admin("update ghouls.runs set request_digest = 'another'");
    await expect(order("9", () => undefined)).rejects.toMatchObject({ code: "idempotency_conflict" });
    expect(await rowsOf()).toEqual({ orders: [], runs: ["order-9"] });
  });
});

test("what is no transaction of the library is refused, with what to pass", async () => {
  for (const [make, given] of [
    [fromDrizzle, viaDrizzle],
    [fromDrizzle, {}],
    [fromKysely, viaKysely],
    [fromKysely, {}],
  ] as const)
    expect(() => make(given)).toThrow(expect.objectContaining({ code: "wrong_transaction" }));
  const serializable = viaDrizzle.transaction((tx) => admitter.admit(fromDrizzle(tx), ADA, request("10")), {
    isolationLevel: "serializable",
  });
  await expect(serializable).rejects.toMatchObject({ code: "wrong_transaction" });
});
