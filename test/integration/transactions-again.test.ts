import { describe, expect, test } from "vitest";
import { NonRetryableError, type WorkflowContext } from "ghouls";
import type { FaultInjector } from "@ghouls/core";
import { transactionWorld } from "../support/transaction-world.ts";
import { until } from "../support/wait.ts";
import { testWorld } from "../support/world.ts";

const { under, world, any, insert, effects, journalOf, nothingIsOpen, having, runs } =
  await transactionWorld();
const { db } = world;

describe("its time", () => {
  test("a function that takes longer: all is rolled back at once, and it is in flight until it has returned", async () => {
    let said: unknown;
    const view = await runs(
      async (ctx) => {
        const failed = await ctx
          .transaction("book", async (tx) => {
            await insert(tx, "a");
            await new Promise((resolve) => tx.signal.addEventListener("abort", resolve));
            said = await insert(tx, "b").catch(String);
            // Others may have its rows though it still runs.
            await nothingIsOpen();
            return "booked";
          })
          .catch((error: unknown) => (error as Error).message);
        return failed;
      },
      having({ transactionLimitMs: 300 }),
    );
    expect(view.output).toBe(
      'transaction "book" failed after 1 try: transaction "book" did not end within 300 ms, and was rolled back',
    );
    expect(said).toContain("did not end within 300 ms");
    expect(await effects()).toEqual([]);
    await nothingIsOpen();
  });

  test("a statement that takes longer is ended, also where an earlier one has used up most of the time", async () => {
    const started = performance.now();
    const view = await runs(
      (ctx) =>
        ctx.transaction("book", async (tx) => {
          await tx.query("select pg_sleep(0.5)");
          await tx.query("select pg_sleep(60)");
        }),
      having({ transactionLimitMs: 1_000 }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed" } });
    expect(performance.now() - started).toBeLessThan(30_000);
    const running = await db.admin(
      "select 1 from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid() and state = 'active'",
    );
    expect(running).toEqual([]);
    await nothingIsOpen();
  });

  test("a process that stands still for longer: PostgreSQL has rolled back, and the function has failed", async () => {
    const view = await runs(
      (ctx) =>
        ctx.transaction("book", async (tx) => {
          await insert(tx, "a");
          const end = performance.now() + 700;
          while (performance.now() < end);
          await insert(tx, "b");
        }),
      having({ transactionLimitMs: 300 }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed" } });
    expect(await effects()).toEqual([]);
    await nothingIsOpen();
  });

  test("a function that does not return raises attention, and is waited for", async () => {
    const end = Promise.withResolvers<void>();
    under.body = (ctx) => ctx.transaction("book", () => end.promise);
    const { runId } = await world.submit("any");
    const working = world.drain({ deps: having({ transactionLimitMs: 50 }) });
    await until("attention", async () => (await world.view(runId)).attention !== null);
    expect((await world.view(runId)).attention?.reason).toBe("step_overdue: book");
    end.resolve();
    await working;
    expect((await world.view(runId)).status).toBe("FAILED");
  });

  test("where an invocation has too little left, the hop yields, and the next one calls it", async () => {
    under.body = (ctx) =>
      ctx.transaction("book", (tx) => insert(tx, "a").then(() => under.calls.push("book")));
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => 5_500 });
    expect([(await world.view(runId)).status, under.calls]).toEqual(["QUEUED", []]);
    await world.drain();
    expect([(await world.view(runId)).status, under.calls, await effects()]).toEqual([
      "DONE",
      ["book"],
      ["a"],
    ]);
  });
});

describe("what is certainly rolled back is called again, within the same try", () => {
  test("two that lock each other's rows", async () => {
    await db.admin("insert into public.accounts values ('a', 0), ('b', 0)");
    const both = Promise.withResolvers<void>();
    const pay = (ctx: WorkflowContext, from: string, to: string) =>
      ctx.transaction(`${from} to ${to}`, async (tx) => {
        await tx.query("update public.accounts set held = held - 1 where name = $1", [from]);
        under.calls.push(from);
        if (new Set(under.calls).size === 2) both.resolve();
        await both.promise;
        await tx.query("update public.accounts set held = held + 2 where name = $1", [to]);
      });
    const view = await runs(async (ctx) => {
      await Promise.all([pay(ctx, "a", "b"), pay(ctx, "b", "a")]);
    });
    expect(view.status).toBe("DONE");
    expect(under.calls.length).toBeGreaterThan(2);
    expect(await db.admin("select name, held from public.accounts order by name")).toEqual([
      { name: "a", held: 1 },
      { name: "b", held: 1 },
    ]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 1 }, { tries: 1 }]);
  });

  test.each([
    ["a serialization failure, wrapped in an error of the function's", "40001", "wrapped"],
    ["a deadlock that the function swallows", "40P01", "swallowed"],
  ])("%s", async (_what, code, how) => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        if (under.calls.push("book") > 2) return;
        await tx.query(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`).catch(() => {
          if (how === "wrapped") throw new Error("wrapped");
        });
      }),
    );
    expect([view.status, under.calls.length, await effects()]).toEqual(["DONE", 3, ["a"]]);
    // By its name alone: what an error says may hold what the rows hold.
    const again = world.logged.filter(({ message }) => message.startsWith("a transaction was rolled back"));
    expect(again.map(({ fields }) => Object.keys(fields))).toEqual([
      ["step", "error"],
      ["step", "error"],
    ]);
    for (const { fields } of again) expect(fields["error"]).toMatch(/^\w*[Ee]rror$/);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 1, outcome: "ok" }]);
  });

  test("a bounded number of times: then it is a failed try", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        under.calls.push("book");
        await tx.query("do $$ begin raise exception 'no' using errcode = '40001'; end $$");
      }),
    );
    expect([view.status, view.error?.code, under.calls.length]).toEqual(["FAILED", "step_failed", 5]);
  });

  test("a connection that is lost before COMMIT", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
        if (under.calls.push("book") > 1) return;
        await db.admin("select pg_terminate_backend($1)", [rows[0]?.pid]);
        await tx.query("select 1");
      }),
    );
    expect([view.status, under.calls.length, await effects()]).toEqual(["DONE", 2, ["a"]]);
  });

  test.each([
    ["ledger.before-statement", "transactions.limit", 2],
    ["ledger.before-statement", "journal.append", 1],
    ["ledger.after-statement", "journal.append", 1],
    ["ledger.before-commit", "transactions", 1],
  ])("40001 at %s of %s", async (at, of, nth) => {
    let passed = 0;
    under.fault = (point, detail) => {
      if (point !== at || detail !== of || (passed += 1) !== nth) return;
      throw Object.assign(new Error("could not serialize access"), { code: "40001" });
    };
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        under.calls.push("book");
        await insert(tx, "a");
        return "booked";
      }),
    );
    expect([view.status, view.output, under.calls.length, await effects()]).toEqual([
      "DONE",
      "booked",
      2,
      ["a"],
    ]);
    expect(await journalOf(view.runId)).toHaveLength(1);
  });
});

describe("a ledger that is out of reach when one begins", () => {
  const outOfReach = (times: () => boolean): FaultInjector => {
    let begins = 0;
    return (point, detail) => {
      if (point !== "ledger.before-statement" || detail !== "transactions.limit") return;
      begins += 1;
      if (begins <= 2 || times()) throw new Error("Connection terminated unexpectedly");
    };
  };
  const book = (ctx: WorkflowContext) =>
    ctx.transaction("book", (tx) => insert(tx, "a").then(() => under.calls.push("book")));

  test("for a while: it waits, and begins then", async () => {
    under.fault = outOfReach(() => false);
    const view = await runs(book);
    expect([view.status, under.calls, await effects()]).toEqual(["DONE", ["book"], ["a"]]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 1 }]);
    expect(world.logged).toContainEqual(
      expect.objectContaining({ message: "the ledger is out of reach; a transaction waits" }),
    );
  });

  test("until there is no time left for it: the hop yields, and nothing was called", async () => {
    let isTimeUp = false;
    under.fault = outOfReach(() => (isTimeUp = true));
    under.body = book;
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => (isTimeUp ? 5_500 : 900_000) });
    expect([(await world.view(runId)).status, under.calls]).toEqual(["QUEUED", []]);
    under.fault = () => undefined;
    await world.drain();
    expect([(await world.view(runId)).status, under.calls, await effects()]).toEqual([
      "DONE",
      ["book"],
      ["a"],
    ]);
  });

  test("what fails beside the ledger and the function leaves the claim as it is", async () => {
    under.fault = (point) => {
      if (point === "worker.after-transaction") throw new Error("by a test");
    };
    const view = await runs(book);
    expect([view.status, await effects()]).toEqual(["RUNNING", []]);
    await nothingIsOpen();
    under.fault = () => undefined;
    await world.later(121);
    expect([(await world.view(view.runId)).status, await effects()]).toEqual(["COMPLETING", ["a"]]);
  });
});

describe("a COMMIT whose answer is lost", () => {
  const lost = () => new Error("Connection terminated unexpectedly");
  const book = (ctx: WorkflowContext) =>
    ctx.transaction("book", async (tx) => {
      under.calls.push("book");
      await insert(tx, "a");
      return "booked";
    });
  const loseOnce = (at: string): FaultInjector => {
    let isLost = false;
    return (point, detail) => {
      if (isLost || point !== at || detail !== "transactions") return;
      isLost = true;
      throw lost();
    };
  };

  test("and it was committed: the code goes on with what the journal has, and nobody is called again", async () => {
    under.fault = loseOnce("ledger.after-commit");
    const view = await runs(book);
    expect([view.status, view.output, under.calls, await effects()]).toEqual([
      "DONE",
      "booked",
      ["book"],
      ["a"],
    ]);
    expect(await world.broken()).toEqual([]);
  });

  test("and it was not: it is called again", async () => {
    under.fault = loseOnce("ledger.before-commit");
    const view = await runs(book);
    expect([view.status, view.output, under.calls.length, await effects()]).toEqual([
      "DONE",
      "booked",
      2,
      ["a"],
    ]);
    expect(await journalOf(view.runId)).toHaveLength(1);
  });

  test("and the ledger cannot tell: the hop does not know, nothing is called again, and the next hop finds it", async () => {
    let isLost = false;
    under.fault = (point, detail) => {
      if (point === "ledger.after-commit" && detail === "transactions") isLost = true;
      if (isLost && (point === "ledger.after-commit" || detail === "runs.lock")) throw lost();
    };
    under.body = book;
    const { runId } = await world.submit("any");
    const [outcome] = await world.deliver(
      [`run:${runId}:1`],
      {},
      { remainingMs: () => (isLost ? 900 : 900_000) },
    );
    expect(outcome?.done).toBe(false);
    expect([(await world.view(runId)).status, under.calls]).toEqual(["RUNNING", ["book"]]);
    under.fault = () => undefined;
    await world.later(121);
    // Nothing of the lost claim can act any more.
    await world.later(1_000);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "booked" });
    expect([under.calls, await effects()]).toEqual([["book"], ["a"]]);
  });
});

describe("its tries", () => {
  test("are counted, and each begins anew", async () => {
    const view = await runs((ctx) =>
      ctx.transaction(
        "book",
        async (tx) => {
          await insert(tx, "a");
          if (under.calls.push("book") < 3) throw new Error("not yet");
        },
        { tries: 3, backoff: { initial: "1ms" } },
      ),
    );
    expect([view.status, under.calls.length, await effects()]).toEqual(["DONE", 3, ["a"]]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 3 }]);
  });

  test("end with a NonRetryableError", async () => {
    const view = await runs((ctx) =>
      ctx.transaction(
        "book",
        () => {
          under.calls.push("book");
          throw new NonRetryableError("never");
        },
        { tries: 3 },
      ),
    );
    expect([view.status, under.calls]).toEqual(["FAILED", ["book"]]);
  });

  test.each([
    [{ tries: 3, backoff: { initial: "1m" } }, "its backoff comes to delays above 10000 ms"],
    [{ timeout: "6s" }, "a transaction lasts 5000 ms at most"],
    [{ tries: 0 }, "tries is a whole number from 1 to 100"],
    [{ timeout: "soon" }, '"soon" is not a duration'],
    [{ effect: "once" }, 'option "effect" is not known'],
  ])("%j is refused at the call", async (options, message) => {
    const view = await runs((ctx) =>
      ctx.transaction("book", () => under.calls.push("book"), options as never),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call" } });
    expect(view.error?.message).toContain(message);
    expect(under.calls).toEqual([]);
  });

  test.each([
    ["", () => 1, "the name of a transaction is a text"],
    ["book", undefined as never, 'transaction "book" has no function'],
  ])("a call with %j and %s is refused", async (name, run, message) => {
    const view = await runs((ctx) => ctx.transaction(name, run));
    expect(view.error?.message).toContain(message);
  });
});

test("one that waits for its turn is not called once its hop has ended", async () => {
  const own = await testWorld({ workflows: [any], maxConnections: 2 });
  under.body = (ctx) =>
    Promise.all([
      ctx.transaction("one", async (tx) => {
        under.calls.push("one");
        await tx.query("select pg_sleep(0.5)");
      }),
      ctx.transaction("two", () => {
        under.calls.push("two");
      }),
      until("the first is called", () => under.calls.length > 0).then(() => {
        throw new Error("no more");
      }),
    ]);
  const { runId } = await own.submit("any");
  await own.drain();
  expect((await own.view(runId)).status).toBe("FAILED");
  expect(under.calls).toEqual(["one"]);
});
