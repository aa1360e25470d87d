import { beforeAll, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import type { RunPageFilter } from "@ghouls/ledger";
import * as z from "zod";
import { testWorld } from "../support/world.ts";

/** A filter that means few of many looks at a bounded number of runs, and goes on where it ended. */

const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({}),
  run: () => Promise.resolve(null),
});
const world = await testWorld({ workflows: [hello] });
const { db, ledger } = world;
const RUNS = 24_000;
const PARENT = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";

beforeAll(async () => {
  // All of one team, of one parent and with attention; one in eight thousand was cancelled, in another workflow and zone.
  await db.admin(
    `with made as (select gen_random_uuid() as id, n, n % 8000 = 7999 as few, ghouls.clock() - n * interval '1 second' as t
       from generate_series(1, ${RUNS}) as n), run as (
       insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest, queue,
         priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at,
         attention_reason, attention_at, parent_run_id, parent_arm_id, parent_close)
       select 'acme', id, id, 'r', case when few then 'rare' else 'hello' end, 1, 'd', 'runs', 5, 'user:ada', '{operator}',
         case when few then 'CANCELLED' else 'DONE' end, 1, '1', 'd', t, t, t, 'x', t, '${PARENT}', id, 'abandon'
       from made returning tenant_id, run_id, created_at, status
     )
     insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
     select run.tenant_id, run.run_id, label.key, label.value, run.created_at
     from run, (values ('team', 'payments'), ('zone', 'eu')) as label(key, value)
     where label.key = 'team' or run.status = 'CANCELLED'`,
  );
  await db.admin("analyze ghouls.runs, ghouls.labels");
});

const FEW: readonly (readonly [string, RunPageFilter])[] = [
  ["a label and a status", { labels: { team: "payments" }, status: ["CANCELLED"] }],
  ["a label and a workflow", { labels: { team: "payments" }, workflow: "rare" }],
  ["two labels", { labels: { team: "payments", zone: "eu" } }],
  ["a parent and a status", { parentRunId: PARENT, status: ["CANCELLED"] }],
  ["a parent and a label", { parentRunId: PARENT, labels: { zone: "eu" } }],
  ["attention and a workflow", { attention: true, workflow: "rare" }],
  ["attention, a status and a workflow", { attention: true, status: ["CANCELLED"], workflow: "rare" }],
  ["a workflow and a status", { workflow: "rare", status: ["CANCELLED"] }],
  [
    "all that there is",
    {
      attention: true,
      parentRunId: PARENT,
      labels: { team: "payments", zone: "eu" },
      workflow: "rare",
      status: ["CANCELLED"],
    },
  ],
];

async function walk(filter: RunPageFilter, limit: number) {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await ledger.runs.page("acme", filter, {
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    pages.push(page.runs.map(({ runId }) => runId));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && pages.length < 100);
  return pages;
}

const few = async () =>
  (
    await db.admin<{ run_id: string }>(
      "select run_id from ghouls.runs where status = 'CANCELLED' order by created_at desc",
    )
  ).map((row) => row.run_id);

describe.each(FEW)("%s", (_what, filter) => {
  test("finds all that is meant, in order and each once, over pages that may be short", async () => {
    const expected = await few();
    expect(expected).toHaveLength(3);
    expect((await walk(filter, 50)).flat()).toEqual(expected);
    expect((await walk(filter, 1)).flat()).toEqual(expected);
  });

  test("finds nothing where all is earlier than what is asked for", async () => {
    const before = new Date(0);
    expect((await walk({ ...filter, before }, 50)).flat()).toEqual([]);
  });
});

test("an empty page says that there is more, and only where there is", async () => {
  const filter = { labels: { team: "payments" }, status: ["CANCELLED"] } as const;
  const last = (await few()).at(-1);
  const pages = await walk({ ...filter, status: ["RUNNING"] }, 50);
  expect(pages.flat()).toEqual([]);
  // Five looks of two thousand a page.
  expect(pages).toHaveLength(Math.ceil((RUNS + 1) / 10_000));
  const found = (await walk(filter, 200)).findIndex((page) => page.includes(last ?? ""));
  expect(found).toBeGreaterThan(0);
});

test.each<[string, RunPageFilter]>([
  ["no filter", {}],
  ["a label", { labels: { team: "payments" } }],
  ["a parent", { parentRunId: PARENT }],
  ["attention", { attention: true }],
  ["a workflow", { workflow: "hello" }],
  ["a status", { status: ["DONE"] }],
])("with %s alone every page but the last is full", async (_what, filter) => {
  const before = (await ledger.runs.page("acme", {}, { limit: 1 })).runs[0]?.createdAt ?? new Date();
  const after = new Date(before.getTime() - 2_500_000);
  const pages = await walk({ ...filter, after, before }, 200);
  expect(pages.slice(0, -1).map((page) => page.length)).toEqual(pages.slice(1).map(() => 200));
  expect(new Set(pages.flat()).size).toBe(pages.flat().length);
  expect(pages.flat().length).toBeGreaterThanOrEqual(2_499);
});

test("a count by a label and a workflow looks at a bounded number too, and counts all that it means", async () => {
  const counts = await world.reads.countRuns("acme", { labels: { team: "payments" }, workflow: "rare" }, 24);
  expect(counts).toMatchObject({ counted: 3, complete: true });
  expect((await world.reads.countRuns("acme", { workflow: "hello" }, 24)).counted).toBe(RUNS - 3);
});
