import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { NonRetryableError, workflow, type Transaction, type WorkflowContext } from "ghouls";
import { idempotencyKeyOf, type AnyWorkflow, type Codec, type FaultInjector } from "@ghouls/core";
import type { ExecutionDeps, ExecutionSettings } from "@ghouls/engine";
import { until } from "../support/wait.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** What the workflow under test does, and what happens at its fault points; each test sets its own. */
let body: (ctx: WorkflowContext) => Promise<unknown>;
let fault: FaultInjector;
let calls: string[];

const any: AnyWorkflow = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
/** Nothing that it has written is JSON. */
const codec: Codec = {
  encode: (text) => Promise.resolve(`~${text}`),
  decode: (stored) => Promise.resolve(stored.slice(1)),
};
const world = await testWorld({
  workflows: [any],
  codec,
  faults: (point, detail) => fault(point, detail),
  settings: { overdueAfterMs: 20 },
});
const { db, ledger } = world;
await db.admin("create table public.effects (name text not null unique deferrable initially immediate)");
await db.admin("create table public.accounts (name text primary key, held integer not null)");
await db.admin("grant all on public.effects, public.accounts to public");

beforeEach(async () => {
  [calls, fault] = [[], () => undefined];
  await db.admin("truncate public.effects, public.accounts");
  world.logged.length = 0;
});

const insert = (tx: Transaction, name: string) =>
  tx.query("insert into public.effects (name) values ($1)", [name]);
const effects = async () =>
  (await db.admin<{ name: string }>("select name from public.effects order by name")).map(({ name }) => name);
const journalOf = (runId: string) =>
  db.admin<{ kind: string; name: string; outcome: string; tries: number; result_text: string | null }>(
    "select kind, name, outcome, tries, result_text from ghouls.journal where run_id = $1 order by ordinal",
    [runId],
  );
/** No transaction of the application's is open, and each has left the pool as it was. */
async function nothingIsOpen(): Promise<void> {
  await until("no open transaction", async () => {
    const open = await db.admin(
      "select pid from pg_stat_activity where datname = current_database() and usename <> 'postgres' and state like 'idle in transaction%'",
    );
    return open.length === 0;
  });
}

const having = (
  settings: Partial<ExecutionSettings>,
  deps: Partial<ExecutionDeps> = {},
): Partial<ExecutionDeps> => ({ ...deps, settings: { ...world.deps.settings, ...settings } });

async function runs(next: typeof body, deps: Partial<ExecutionDeps> = {}) {
  body = next;
  const { runId } = await world.submit("any");
  await world.drain({ deps });
  return world.view(runId);
}

test("one that waits for its turn is not called once its hop has ended, and what made another wait is named without its words", async () => {
  const own = await testWorld({ workflows: [any], maxConnections: 2 });
  body = (ctx) =>
    Promise.all([
      ctx.transaction("one", async (tx) => {
        calls.push("one");
        await tx.query("select pg_sleep(0.5)");
      }),
      ctx.transaction("two", () => {
        calls.push("two");
      }),
      until("the first is called", () => calls.length > 0).then(() => {
        throw new Error("no more");
      }),
    ]);
  const { runId } = await own.submit("any");
  await own.drain();
  expect((await own.view(runId)).status).toBe("FAILED");
  expect(calls).toEqual(["one"]);
});

describe("both or neither", () => {
  test("a function that returns: its statements and its result are there, and no replay calls it again", async () => {
    let key: string | undefined;
    const view = await runs(async (ctx) => {
      const found = await ctx.transaction("book", async (tx) => {
        calls.push("book");
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
    expect([calls, await effects()]).toEqual([["book"], ["a"]]);
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
          calls.push("book");
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
      output: 'StepFailedError: step "book" failed after 1 try: no',
    });
    expect([calls, await effects()]).toEqual([["book"], []]);
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
        calls.push("book");
        await tx.query("set constraints all deferred");
        await insert(tx, "a");
        await insert(tx, "a");
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed" } });
    expect(view.error?.message).toContain("duplicate key");
    expect([calls, await effects()]).toEqual([["book"], []]);
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
    body = (ctx) =>
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
        calls.push("book");
        return tx.query("select $1::jsonb", [circular]).then(() => undefined);
      }),
    );
    expect([view.status, calls]).toEqual(["FAILED", ["book"]]);
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
      'step "book" failed after 1 try: transaction "book" did not end within 300 ms, and was rolled back',
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
    body = (ctx) => ctx.transaction("book", () => end.promise);
    const { runId } = await world.submit("any");
    const working = world.drain({ deps: having({ transactionLimitMs: 50 }) });
    await until("attention", async () => (await world.view(runId)).attention !== null);
    expect((await world.view(runId)).attention?.reason).toBe("step_overdue: book");
    end.resolve();
    await working;
    expect((await world.view(runId)).status).toBe("FAILED");
  });

  test("where an invocation has too little left, the hop yields, and the next one calls it", async () => {
    body = (ctx) => ctx.transaction("book", (tx) => insert(tx, "a").then(() => calls.push("book")));
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => 5_500 });
    expect([(await world.view(runId)).status, calls]).toEqual(["QUEUED", []]);
    await world.drain();
    expect([(await world.view(runId)).status, calls, await effects()]).toEqual(["DONE", ["book"], ["a"]]);
  });
});

describe("what is certainly rolled back is called again, within the same try", () => {
  test("two that lock each other's rows", async () => {
    await db.admin("insert into public.accounts values ('a', 0), ('b', 0)");
    const both = Promise.withResolvers<void>();
    const pay = (ctx: WorkflowContext, from: string, to: string) =>
      ctx.transaction(`${from} to ${to}`, async (tx) => {
        await tx.query("update public.accounts set held = held - 1 where name = $1", [from]);
        calls.push(from);
        if (new Set(calls).size === 2) both.resolve();
        await both.promise;
        await tx.query("update public.accounts set held = held + 2 where name = $1", [to]);
      });
    const view = await runs(async (ctx) => {
      await Promise.all([pay(ctx, "a", "b"), pay(ctx, "b", "a")]);
    });
    expect(view.status).toBe("DONE");
    expect(calls.length).toBeGreaterThan(2);
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
        if (calls.push("book") > 2) return;
        await tx.query(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`).catch(() => {
          if (how === "wrapped") throw new Error("wrapped");
        });
      }),
    );
    expect([view.status, calls.length, await effects()]).toEqual(["DONE", 3, ["a"]]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 1, outcome: "ok" }]);
  });

  test("a bounded number of times: then it is a failed try", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        calls.push("book");
        await tx.query("do $$ begin raise exception 'no' using errcode = '40001'; end $$");
      }),
    );
    expect([view.status, view.error?.code, calls.length]).toEqual(["FAILED", "step_failed", 5]);
  });

  test("a connection that is lost before COMMIT", async () => {
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        await insert(tx, "a");
        const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
        if (calls.push("book") > 1) return;
        await db.admin("select pg_terminate_backend($1)", [rows[0]?.pid]);
        await tx.query("select 1");
      }),
    );
    expect([view.status, calls.length, await effects()]).toEqual(["DONE", 2, ["a"]]);
  });

  test.each([
    ["ledger.before-statement", "transactions.limit", 2],
    ["ledger.before-statement", "journal.append", 1],
    ["ledger.after-statement", "journal.append", 1],
    ["ledger.before-commit", "transactions", 1],
  ])("40001 at %s of %s", async (at, of, nth) => {
    let passed = 0;
    fault = (point, detail) => {
      if (point !== at || detail !== of || (passed += 1) !== nth) return;
      throw Object.assign(new Error("could not serialize access"), { code: "40001" });
    };
    const view = await runs((ctx) =>
      ctx.transaction("book", async (tx) => {
        calls.push("book");
        await insert(tx, "a");
        return "booked";
      }),
    );
    expect([view.status, view.output, calls.length, await effects()]).toEqual(["DONE", "booked", 2, ["a"]]);
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
    ctx.transaction("book", (tx) => insert(tx, "a").then(() => calls.push("book")));

  test("for a while: it waits, and begins then", async () => {
    fault = outOfReach(() => false);
    const view = await runs(book);
    expect([view.status, calls, await effects()]).toEqual(["DONE", ["book"], ["a"]]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 1 }]);
    expect(world.logged).toContainEqual(
      expect.objectContaining({ message: "the ledger is out of reach; a transaction waits" }),
    );
  });

  test("until there is no time left for it: the hop yields, and nothing was called", async () => {
    let isTimeUp = false;
    fault = outOfReach(() => (isTimeUp = true));
    body = book;
    const { runId } = await world.submit("any");
    await world.deliver([`run:${runId}:1`], {}, { remainingMs: () => (isTimeUp ? 5_500 : 900_000) });
    expect([(await world.view(runId)).status, calls]).toEqual(["QUEUED", []]);
    fault = () => undefined;
    await world.drain();
    expect([(await world.view(runId)).status, calls, await effects()]).toEqual(["DONE", ["book"], ["a"]]);
  });

  test("what fails beside the ledger and the function leaves the claim as it is", async () => {
    fault = (point) => {
      if (point === "worker.after-transaction") throw new Error("by a test");
    };
    const view = await runs(book);
    expect([view.status, await effects()]).toEqual(["RUNNING", []]);
    await nothingIsOpen();
    fault = () => undefined;
    await world.later(121);
    expect([(await world.view(view.runId)).status, await effects()]).toEqual(["COMPLETING", ["a"]]);
  });
});

describe("a COMMIT whose answer is lost", () => {
  const lost = () => new Error("Connection terminated unexpectedly");
  const book = (ctx: WorkflowContext) =>
    ctx.transaction("book", async (tx) => {
      calls.push("book");
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
    fault = loseOnce("ledger.after-commit");
    const view = await runs(book);
    expect([view.status, view.output, calls, await effects()]).toEqual(["DONE", "booked", ["book"], ["a"]]);
    expect(await world.broken()).toEqual([]);
  });

  test("and it was not: it is called again", async () => {
    fault = loseOnce("ledger.before-commit");
    const view = await runs(book);
    expect([view.status, view.output, calls.length, await effects()]).toEqual(["DONE", "booked", 2, ["a"]]);
    expect(await journalOf(view.runId)).toHaveLength(1);
  });

  test("and the ledger cannot tell: the hop does not know, nothing is called again, and the next hop finds it", async () => {
    let isLost = false;
    fault = (point, detail) => {
      if (point === "ledger.after-commit" && detail === "transactions") isLost = true;
      if (isLost && (point === "ledger.after-commit" || detail === "runs.lock")) throw lost();
    };
    body = book;
    const { runId } = await world.submit("any");
    const [outcome] = await world.deliver(
      [`run:${runId}:1`],
      {},
      { remainingMs: () => (isLost ? 900 : 900_000) },
    );
    expect(outcome?.done).toBe(false);
    expect([(await world.view(runId)).status, calls]).toEqual(["RUNNING", ["book"]]);
    fault = () => undefined;
    await world.later(121);
    // Nothing of the lost claim can act any more.
    await world.later(1_000);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "booked" });
    expect([calls, await effects()]).toEqual([["book"], ["a"]]);
  });
});

describe("its tries", () => {
  test("are counted, and each begins anew", async () => {
    const view = await runs((ctx) =>
      ctx.transaction(
        "book",
        async (tx) => {
          await insert(tx, "a");
          if (calls.push("book") < 3) throw new Error("not yet");
        },
        { tries: 3, backoff: { initial: "1ms" } },
      ),
    );
    expect([view.status, calls.length, await effects()]).toEqual(["DONE", 3, ["a"]]);
    expect(await journalOf(view.runId)).toMatchObject([{ tries: 3 }]);
  });

  test("end with a NonRetryableError", async () => {
    const view = await runs((ctx) =>
      ctx.transaction(
        "book",
        () => {
          calls.push("book");
          throw new NonRetryableError("never");
        },
        { tries: 3 },
      ),
    );
    expect([view.status, calls]).toEqual(["FAILED", ["book"]]);
  });

  test.each([
    [{ tries: 3, backoff: { initial: "1m" } }, "its backoff comes to delays above 10000 ms"],
    [{ timeout: "6s" }, "a transaction lasts 5000 ms at most"],
    [{ tries: 0 }, "tries is a whole number from 1 to 100"],
    [{ timeout: "soon" }, '"soon" is not a duration'],
    [{ effect: "once" }, 'option "effect" is not known'],
  ])("%j is refused at the call", async (options, message) => {
    const view = await runs((ctx) => ctx.transaction("book", () => calls.push("book"), options as never));
    expect(view).toMatchObject({ status: "FAILED", error: { code: "invalid_call" } });
    expect(view.error?.message).toContain(message);
    expect(calls).toEqual([]);
  });

  test.each([
    ["", () => 1, "the name of a transaction is a text"],
    ["book", undefined as never, 'transaction "book" has no function'],
  ])("a call with %j and %s is refused", async (name, run, message) => {
    const view = await runs((ctx) => ctx.transaction(name, run));
    expect(view.error?.message).toContain(message);
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
    const view = await runs(next as typeof body);
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
