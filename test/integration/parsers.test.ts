import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { testWorld } from "../support/world.ts";

const world = await testWorld({
  workflows: [
    workflow({
      name: "counts",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: async (ctx) => {
        const { rows } = await ctx.transaction("count", (tx) => tx.query("select 7::bigint as n"));
        return [await ctx.step("one", () => 1), rows];
      },
    }),
  ],
});

const INT8 = 20;
const TIMESTAMPTZ = 1184;
const TEXTS = 1009;
const own = [INT8, TIMESTAMPTZ, TEXTS].map((oid) => [oid, pg.types.getTypeParser(oid)] as const);
afterEach(() => {
  for (const [oid, parse] of own) pg.types.setTypeParser(oid, parse as never);
});

test("an application that has bigint, times and lists come as something else takes nothing from the ledger", async () => {
  pg.types.setTypeParser(INT8, BigInt);
  pg.types.setTypeParser(TIMESTAMPTZ, (text) => text);
  pg.types.setTypeParser(TEXTS as never, (text: string) => text);
  const { runId } = await world.submit("counts");
  await world.drain();
  expect(await world.view(runId)).toMatchObject({ status: "DONE", output: [1, [{ n: "7" }]] });
  expect(await world.broken()).toEqual([]);
});
