import { beforeEach } from "vitest";
import * as z from "zod";
import { workflow, type Transaction, type WorkflowContext } from "ghouls";
import type { AnyWorkflow, Codec, FaultInjector } from "@ghouls/core";
import type { ExecutionDeps, ExecutionSettings } from "@ghouls/engine";
import { until } from "./wait.ts";
import { testWorld } from "./world.ts";

/** What the workflow under test does, and what happens at its fault points: each test sets its own. */
interface UnderTest {
  body: (ctx: WorkflowContext) => Promise<unknown>;
  fault: FaultInjector;
  calls: string[];
}

/** One workflow that does what a test says, over tables of its own. */
export async function transactionWorld() {
  const under: UnderTest = { body: () => Promise.resolve(null), fault: () => undefined, calls: [] };
  const any: AnyWorkflow = workflow({
    name: "any",
    version: 1,
    onWorkerLoss: "resume",
    input: z.unknown(),
    run: (ctx) => under.body(ctx),
  });
  /** Nothing that it has written is JSON. */
  const codec: Codec = {
    encode: (text) => Promise.resolve(`~${text}`),
    decode: (stored) => Promise.resolve(stored.slice(1)),
  };
  const world = await testWorld({
    workflows: [any],
    codec,
    faults: (point, detail) => under.fault(point, detail),
    settings: { overdueAfterMs: 20 },
  });
  const { db } = world;
  await db.admin("create table public.effects (name text not null unique deferrable initially immediate)");
  await db.admin("create table public.accounts (name text primary key, held integer not null)");
  await db.admin("grant all on public.effects, public.accounts to public");

  beforeEach(async () => {
    [under.calls, under.fault] = [[], () => undefined];
    await db.admin("truncate public.effects, public.accounts");
    world.logged.length = 0;
  });

  const insert = (tx: Transaction, name: string) =>
    tx.query("insert into public.effects (name) values ($1)", [name]);
  const effects = async () =>
    (await db.admin<{ name: string }>("select name from public.effects order by name")).map(
      ({ name }) => name,
    );
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

  async function runs(next: UnderTest["body"], deps: Partial<ExecutionDeps> = {}) {
    under.body = next;
    const { runId } = await world.submit("any");
    await world.drain({ deps });
    return world.view(runId);
  }

  return { under, any, codec, world, insert, effects, journalOf, nothingIsOpen, having, runs };
}
