import { workflow } from "ghouls";
import * as z from "zod";
import { afterAll, expect, test } from "vitest";
import { databaseOfTheRun } from "./server.support.ts";
import { startGhouls } from "./start.ts";

const calls: string[] = [];
const books = workflow({
  name: "books",
  version: 1,
  onWorkerLoss: "resume",
  input: z.string(),
  run: (ctx, seat) =>
    ctx.transaction(
      "book",
      async (tx) => {
        calls.push(seat);
        await tx.query("insert into public.seats (name) values ($1)", [seat]);
        if (seat === "twice" && calls.length === 1) throw new Error("once more");
        return seat;
      },
      { tries: 2, backoff: { initial: "1ms" } },
    ),
});

const db = await databaseOfTheRun();
await db.admin("create table public.seats (name text primary key)");
await db.admin("grant all on public.seats to public");
const ghouls = await startGhouls({ workflows: [books] });
afterAll(() => ghouls.stop());

const seats = async () =>
  (await db.admin<{ name: string }>("select name from public.seats order by name")).map(({ name }) => name);

test("a transaction is carried on the database of the test, and stands among its steps", async () => {
  const run = await ghouls.submit(books, "twice");
  expect(await run.result()).toBe("twice");
  expect(await run.steps()).toEqual([{ kind: "transaction", name: "book", outcome: "ok", tries: 2 }]);
  expect(await seats()).toEqual(["twice"]);
});

test("a worker that is lost when its function has ended has left nothing: the next one calls it again", async () => {
  calls.length = 0;
  const run = await ghouls.submit(books, "lost");
  run.crashAfter("book");
  expect(await run.result()).toBe("lost");
  expect([calls, await seats()]).toEqual([
    ["lost", "lost"],
    ["lost", "twice"],
  ]);
});
