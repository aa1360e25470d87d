import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Transaction, WorkflowContext } from "ghouls";
import { idempotencyKeyOf } from "@ghouls/core";
import type { ExecutionDeps } from "@ghouls/engine";
import { transactionWorld } from "../support/transaction-world.ts";
import { SOMEBODY } from "../support/world.ts";

const { under, world, codec, insert, effects, journalOf, nothingIsOpen, having, runs } =
  await transactionWorld();
const { db, ledger } = world;

describe("both or neither", () => {
  test("a function that returns: its statements and its result are there, and no replay calls it again", async () => {
    let key: string | undefined;
    const view = await runs(async (ctx) => {
      const found = await ctx.transaction("book", async (tx) => {
        under.calls.push("book");
        key = tx.idempotencyKey;
        const { rowCount } = await insert(tx, "a");
        const { rows } = await tx.query<{ n: number }>("select count(*)::integer as n from public.effects");
        return { rowCount, rows, gone: undefined };
      });
      const nothing = await ctx.transaction("nothing", () => undefined);
      await ctx.sleep("1h");
      return { found, nothing: nothing === undefined };
    });
    expect(view.status).toBe("AWAITING_TIMER");
    await world.later(3_601);
    const ended = await world.view(view.runId);
    expect(ended).toMatchObject({
      status: "DONE",
      output: { found: { rowCount: 1, rows: [{ n: 1 }] }, nothing: true },
    });
    expect([under.calls, await effects()]).toEqual([["book"], ["a"]]);
    expect((await journalOf(view.runId)).slice(0, 2)).toEqual([
      {
        kind: "transaction",
        name: "book",
        outcome: "ok",
        tries: 1,
        result_text: '~{"rowCount":1,"rows":[{"n":1}]}',
      },
      { kind: "transaction", name: "nothing", outcome: "ok", tries: 1, result_text: null },
    ]);
    expect(key).toBe(
      idempotencyKeyOf(view.runId, { epoch: 0, scope: "", kind: "transaction", name: "book", nth: 1 }),
    );
    const timeline = await world.reads.getTimeline(SOMEBODY.tenantId, view.runId);
    expect(timeline?.entries).toContainEqual(expect.objectContaining({ call: "transaction", name: "book" }));
    expect(await world.broken()).toEqual([]);
  });

  test("a function that throws: nothing of it is there but its failure, which a replay throws again", async () => {
    const view = await runs(async (ctx) => {
      const failed = await ctx
        .transaction("book", async (tx) => {
          under.calls.push("book");
          await insert(tx, "a");
          throw new Error("no");
        })
        .catch((error: unknown) => error);
      await ctx.sleep("1h");
      return String(failed);
    });
    await world.later(3_601);
    expect(await world.view(view.runId)).toMatchObject({
      status: "DONE",
      output: 'StepFailedError: transaction "book" failed after 1 try: no',
    });
    expect([under.calls, await effects()]).toEqual([["book"], []]);
    await nothingIsOpen();
  });

  test("an SQL error that its function swallows: it fails with that error's words, and nothing is there", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        await insert(tx, "a").catch(() => undefined);
        return "booked";
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed", step: "book" } });
    expect(view.error?.message).toMatch(/a statement failed, .* SAVEPOINT .* duplicate key/);
    expect(await effects()).toEqual([]);
    expect(await journalOf(view.runId)).toMatchObject([{ outcome: "error" }]);
  });

  test("an SQL error behind a savepoint: what was before it is committed", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        await tx.query("savepoint twice");
        const error = await insert(tx, "a").catch((thrown: unknown) => thrown as { code: string });
        await tx.query("rollback to twice");
        return (error as { code: string }).code;
      }),
    );
    expect([view.status, view.output, await effects()]).toEqual(["DONE", "23505", ["a"]]);
  });

  test("a constraint that is checked at COMMIT: the function has failed, and nothing is there", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        under.calls.push("book");
        await tx.query("set constraints all deferred");
        await insert(tx, "a");
        await insert(tx, "a");
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed" } });
    expect(view.error?.message).toContain("duplicate key");
    expect([under.calls, await effects()]).toEqual([["book"], []]);
  });

  test.each([
    ["above its cap", () => "x".repeat(2_000_000), "too_large"],
    ["that is no JSON", () => 1n as never, "unserializable"],
  ])("a result %s: refused by name, and nothing is there", async (_what, value, code) => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        return value();
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code, step: "book" } });
    expect(view.error?.message).toContain('the result of transaction "book"');
    expect([await effects(), await journalOf(view.runId)]).toEqual([[], []]);
    await nothingIsOpen();
  });

  test("a codec that fails: nothing is there, and the claim is left as it is", async () => {
    const deps = { codec: { ...codec, encode: () => Promise.reject(new Error("no key")) } };
    const view = await runs((ctx) => ctx.transaction("book", (tx) => insert(tx, "a")), deps);
    expect([view.status, await effects()]).toEqual(["RUNNING", []]);
    await nothingIsOpen();
    await world.later(121);
    expect([(await world.view(view.runId)).status, await effects()]).toEqual(["COMPLETING", ["a"]]);
  });

  test("a cancel between its statements and its end: it is fenced, and nothing is there", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        await world.control.cancel(SOMEBODY, ctx.runId, "changed our minds");
      }),
    );
    expect(view.status).toMatch(/^CANCELL/);
    expect([await effects(), await journalOf(view.runId)]).toEqual([[], []]);
    await nothingIsOpen();
  });

  test("a claim that is known to be gone while its function runs: rolled back at once, and no statement is sent", async () => {
    let said: unknown;
    const begun = Promise.withResolvers<void>();
    under.body = (ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        begun.resolve();
        await new Promise((resolve) => tx.signal.addEventListener("abort", resolve));
        said = await insert(tx, "b").catch(String);
      });
    const { runId } = await world.submit("any");
    const working = world.drain({ deps: having({ beatMs: 20, leaseMs: 60_000 }) });
    await begun.promise;
    await world.control.cancel(SOMEBODY, runId, "changed our minds");
    await working;
    expect(said).toBe('Error: transaction "book": its run does not go on here');
    expect([await effects(), await journalOf(runId)]).toEqual([[], []]);
  });
});

describe("its statements", () => {
  test.each([
    "commit",
    "rollback",
    "begin",
    "end; select 1",
    "/* */ COMMIT",
    "set search_path = a",
    "create table a ()",
  ])("%j is refused before it is sent, and the transaction goes on", async (text) => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        return tx.query(text).catch((error: unknown) => (error as Error).name);
      }),
    );
    expect([view.status, view.output, await effects()]).toEqual(["DONE", "NonRetryableError", ["a"]]);
  });

  test.each(["insert into public.effects values ('b'); commit", "select 1; begin", "select 1; select 2"])(
    "%j is more than one: PostgreSQL takes none of them",
    async (text) => {
      const view = await runs((ctx) =>
        ctx.transaction("book", async (tx) => {
          await insert(tx, "a");
          await tx.query(text);
        }),
      );
      expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed" } });
      expect(view.error?.message).toContain("cannot insert multiple commands into a prepared statement");
      expect(await effects()).toEqual([]);
    },
  );

  test("two at the same time run one after the other, and one that nobody awaits is waited for", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        const [slow, fast] = await Promise.all([
          tx.query("select pg_sleep(0.1), clock_timestamp() as at"),
          tx.query("select clock_timestamp() as at"),
        ]);
        void insert(tx, "a");
        return Number(fast.rows[0]?.["at"]) >= Number(slow.rows[0]?.["at"]);
      }),
    );
    expect([view.status, view.output, await effects()]).toEqual(["DONE", true, ["a"]]);
  });

  test("a transaction that was left all the same: the run fails, and claims nothing", async () => {
    const { transactions } = ledger;
    const leaving: ExecutionDeps["ledger"] = {
      ...ledger,
      transactions: {
        ...transactions,
        ask: async (begun, text, values) => {
          const answer = await transactions.ask(begun, text, values);
          await transactions.ask(begun, "commit", []);
          await transactions.ask(begun, "begin", []);
          return answer;
        },
      },
    };
    const view = await runs((ctx) => ctx.transaction("book", (tx) => insert(tx, "a").then(() => "booked")), {
      ledger: leaving,
    });
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call", step: "book" } });
    expect(view.error?.message).toContain("was ended by one of its own statements");
    expect(await journalOf(view.runId)).toEqual([]);
    await nothingIsOpen();
  });

  test("values that no driver can send: a failure of the function, which is not called again", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const view = await runs((ctx) =>
      ctx.transaction("book", (tx) => {
        under.calls.push("book");
        return tx.query("select $1::jsonb", [circular]).then(() => undefined);
      }),
    );
    expect([view.status, under.calls]).toEqual(["FAILED", ["book"]]);
  });

  test("what is asked for after its function has ended is refused, and reaches no connection", async () => {
    let kept: Transaction | undefined;
    const view = await runs(async (ctx) => {
      await ctx.transaction("book", async (tx) => {
        kept = tx;
        await insert(tx, "a");
      });
      return String(
        await kept?.query("insert into public.effects values ('b')").catch((error: unknown) => error),
      );
    });
    expect(view.output).toContain('transaction "book" is over, because its function has ended');
    expect(await effects()).toEqual(["a"]);
  });

  test("its fence is taken last: nobody waits for a run whose function is still running", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        const free = await db.admin("select 1 from ghouls.runs where run_id = $1 for update nowait", [
          ctx.runId,
        ]);
        const beat = await db.admin("select 1 from ghouls.deliveries where run_id = $1 for update nowait", [
          ctx.runId,
        ]);
        return free.length + beat.length;
      }),
    );
    expect([view.status, view.output]).toEqual(["DONE", 2]);
  });
});

describe("beside other calls", () => {
  test.each([
    ["a step", (ctx: WorkflowContext) => ctx.step("outer", () => ctx.transaction("book", () => 1))],
    [
      "a transaction",
      (ctx: WorkflowContext) => ctx.transaction("outer", () => ctx.transaction("book", () => 1)),
    ],
  ])("inside of %s it is refused", async (_what, next) => {
    const view = await runs(next as typeof under.body);
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call", step: "outer" } });
    expect(view.error?.message).toContain('ctx.transaction was called inside step "outer"');
  });

  test("a step inside of it is refused, and its statements are not committed", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("outer", async (tx) => {
        await insert(tx, "a");
        await ctx.step("inner", () => 1).catch(() => undefined);
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call", step: "outer" } });
    expect([await effects(), await journalOf(view.runId)]).toEqual([[], []]);
  });

  test("more than there are connections, and steps: the code gets results in the order of the journal", async () => {
    const order: string[] = [];
    const view = await runs(async (ctx) => {
      const note = (name: string) => () => void order.push(name);
      await Promise.all(
        Array.from({ length: 12 }, (_, index) => [
          ctx
            .transaction(`t${index}`, async (tx) => {
              await insert(tx, `t${index}`);
              await delay(index % 3);
            })
            .then(note(`t${index}`)),
          ctx.step(`s${index}`, () => delay(index % 4).then(() => undefined)).then(note(`s${index}`)),
        ]).flat(),
      );
    });
    expect(view.status).toBe("DONE");
    expect(order).toHaveLength(24);
    expect((await journalOf(view.runId)).map(({ name }) => name)).toEqual(order);
    expect(await effects()).toHaveLength(12);
  });
});
