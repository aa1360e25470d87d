import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import type { AnyWorkflow } from "@ghouls/core";
import { makeJournal, makeRun, statusesOf } from "../support/factories.ts";
import { testWorld } from "../support/world.ts";

/** What the workflow under test does; each test sets its own. */
let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
let trace: string[] = [];
beforeEach(() => {
  trace = [];
});

const any: AnyWorkflow = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
const strict: AnyWorkflow = workflow({
  name: "strict",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  output: z.object({ n: z.number() }),
  run: (ctx) => body(ctx) as never,
});
const dated: AnyWorkflow = workflow({
  name: "dated",
  version: 1,
  onWorkerLoss: "resume",
  deadline: "1h",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
const world = await testWorld({ workflows: [any, strict, dated], settings: { overdueAfterMs: 20 } });

async function runs(next: typeof body, name = "any") {
  body = next;
  const { runId } = await world.submit(name);
  await world.drain();
  return world.view(runId);
}

/** A promise that a test opens. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
}

describe("how a run fails", () => {
  test.each([
    ["a string", "boom", "a string was thrown: boom"],
    ["undefined", undefined, "undefined was thrown, not an Error"],
    ["an error of 5 MB", new Error("x".repeat(5_000_000)), "more characters"],
  ])("a step that throws %s: a readable, bounded reason", async (_name, thrown, message) => {
    const view = await runs((ctx) =>
      ctx.step("throws", () => {
        throw thrown;
      }),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "step_failed", step: "throws" } });
    expect(view.error?.message).toContain(message);
    expect(JSON.stringify(view.error).length).toBeLessThan(20_000);
  });

  test.each([
    ["a Map", () => new Map(), "unserializable"],
    ["NaN deep inside", () => ({ a: [Number.NaN] }), "unserializable"],
    ["a bigint", () => 1n, "unserializable"],
    ["two megabytes", () => "x".repeat(2_000_000), "too_large"],
  ])("a step that returns %s fails its run, and no catch hides it", async (_name, value, code) => {
    const view = await runs(async (ctx) => {
      try {
        await ctx.step("returns", value as () => string);
      } catch {
        return "hidden";
      }
      return "went on";
    });
    expect(view).toMatchObject({ status: "FAILED", error: { code, step: "returns" } });
  });

  test("the workflow's own throw, an output that does not fit, and one that JSON cannot hold", async () => {
    const threw = await runs(() => Promise.reject(new TypeError("bad luck")));
    expect(threw.error).toMatchObject({ code: "workflow_failed", name: "TypeError", message: "bad luck" });
    const misfit = await runs(() => Promise.resolve({ n: "one" }), "strict");
    expect(misfit.error).toMatchObject({ code: "output_invalid", message: expect.stringContaining("/n") });
    const cannot = await runs(() => Promise.resolve(new Set()));
    expect(cannot.error).toMatchObject({ code: "unserializable" });
  });

  test.each([
    ["no name", (ctx: WorkflowContext) => ctx.step("", () => 1)],
    ["a name with NUL", (ctx: WorkflowContext) => ctx.step("a\0b", () => 1)],
    ["no function", (ctx: WorkflowContext) => ctx.step("x", undefined as never)],
    ["no whole number of tries", (ctx: WorkflowContext) => ctx.step("x", () => 1, { tries: 1.5 })],
    [
      "a backoff factor below 1",
      (ctx: WorkflowContext) => ctx.step("x", () => 1, { tries: 2, backoff: { factor: 0.5 } }),
    ],
    [
      "a timeout above the function's limit",
      (ctx: WorkflowContext) => ctx.step("x", () => 1, { timeout: "1h" }),
    ],
    [
      "an option of a later version",
      (ctx: WorkflowContext) => ctx.step("x", () => 1, { cache: true } as never),
    ],
  ])("a call with %s is refused before anything runs", async (_name, call) => {
    const view = await runs(async (ctx) => {
      await call(ctx).catch(() => undefined);
      return "went on";
    });
    expect(view).toMatchObject({ status: "FAILED", steps: 0, error: { code: "invalid_call" } });
    expect(view.error?.message.length).toBeGreaterThan(20);
  });

  test("two open calls of one name are refused before either runs", async () => {
    const view = await runs((ctx) =>
      Promise.all([1, 2].map((n) => ctx.step("same", () => void trace.push(`call ${n}`)))),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { code: "duplicate_call" } });
    expect(trace).toEqual([]);
  });

  test("a run past its deadline starts no step, also when the deadline passes before its claim", async () => {
    body = (ctx) => ctx.step("late", () => void trace.push("ran"));
    const { runId } = await world.submit("dated");
    await world.advance(3_601);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { code: "deadline" } });
    expect(trace).toEqual([]);
  });
});

describe("a step is in flight until it has returned or thrown", () => {
  test("a timeout fires the signal, and no second call starts beside the first", async () => {
    let running = 0;
    let most = 0;
    const view = await runs((ctx) =>
      ctx.step(
        "slow",
        async ({ signal, tryNumber }) => {
          most = Math.max(most, (running += 1));
          const { passed, open } = gate();
          signal.addEventListener("abort", () => setTimeout(open, 15));
          await passed;
          running -= 1;
          if (tryNumber === 1) throw new Error("stopped");
          return "came late";
        },
        { tries: 2, timeout: "10ms", backoff: { initial: "1ms" } },
      ),
    );
    expect(view).toMatchObject({ status: "DONE", output: "came late" });
    expect(most).toBe(1);
  });

  test("a step that ignores its abort holds the settlement until it has ended", async () => {
    const { passed, open } = gate();
    body = (ctx) =>
      Promise.all([
        ctx.step("fails", () => {
          throw new Error("first");
        }),
        ctx.step("ignores", async () => {
          await passed;
          trace.push("ended");
          return 1;
        }),
      ]);
    const { runId } = await world.submit("any");
    const drained = world.drain();
    await expect.poll(async () => (await world.view(runId)).steps).toBe(1);
    expect((await world.view(runId)).status).toBe("RUNNING");
    open();
    await drained;
    expect(trace).toEqual(["ended"]);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", steps: 2, error: { step: "fails" } });
  });

  test("one that does not end past its bound asks for a person, and still ends its run", async () => {
    const { passed, open } = gate();
    body = (ctx) => ctx.step("stuck", () => passed, { timeout: "10ms" });
    const { runId } = await world.submit("any");
    const drained = world.drain();
    await expect.poll(async () => (await world.view(runId)).attention?.reason).toBe("step_overdue: stuck");
    open();
    await drained;
    expect((await world.view(runId)).status).toBe("DONE");
  });

  test("code that waits for what is no step and no wait asks for a person, and still ends its run", async () => {
    const { passed, open } = gate();
    body = async (ctx) => {
      await ctx.step("one", () => 1);
      await passed;
      return "end";
    };
    const { runId } = await world.submit("any");
    const drained = world.drain();
    await expect
      .poll(async () => (await world.view(runId)).attention?.reason)
      .toBe("code_overdue: it waits for what is no step and no wait");
    open();
    await drained;
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end" });
  });

  test("retries between two tries stop when the workflow has failed, and leave no timer", async () => {
    const view = await runs((ctx) =>
      Promise.all([
        ctx.step("fails", async () => {
          await new Promise((resolve) => setImmediate(resolve));
          throw new Error("final");
        }),
        ctx.step(
          "again",
          () => {
            trace.push("try");
            throw new Error("again");
          },
          { tries: 50, backoff: { initial: "10s" } },
        ),
      ]),
    );
    expect(view).toMatchObject({ status: "FAILED", error: { step: "fails" }, steps: 1 });
    expect(trace).toEqual(["try"]);
  });

  test("a step that nobody awaits and that fails ends no process", async () => {
    const view = await runs((ctx) => {
      void ctx.step("unawaited", () => {
        throw new Error("nobody looks");
      });
      return Promise.resolve("returned");
    });
    expect(view).toMatchObject({ status: "DONE", output: "returned", steps: 1 });
  });

  test("code that goes on after its workflow has returned starts nothing", async () => {
    const view = await runs((ctx) => {
      void ctx.step("first", () => 1).then(() => ctx.step("second", () => void trace.push("ran")));
      return Promise.resolve("returned");
    });
    expect(view).toMatchObject({ status: "DONE", steps: 1 });
    expect(trace).toEqual([]);
  });
});

describe("a replay", () => {
  const twoChains = async (ctx: WorkflowContext) => {
    const chain = async (name: string) => {
      for (const n of [1, 2]) {
        await ctx.step(`${name}${n}`, () => void trace.push(`ran ${name}${n}`));
        trace.push(`saw ${name}${n} at ${ctx.now().getUTCSeconds()}`);
      }
    };
    await Promise.all([chain("a"), chain("b")]);
    return [ctx.random(), ctx.uuid()];
  };

  async function replayed(
    next: typeof body,
    journal: readonly (string | [string, unknown])[],
    workflowName = "any",
  ) {
    body = next;
    const made = await makeRun(world.db, { workflow: workflowName, digest: `${workflowName}@1` });
    await makeJournal(world.db, made, journal);
    const outcomes = await world.deliver([`run:${made.runId}:1`]);
    return { view: await world.view(made.runId), outcomes, made };
  }

  test.each([[["a1"]], [["b1", "b2"]], [["a1", "b1", "b2"]], [["b1", "a1", "a2", "b2"]]])(
    "resolves %j one at a time in order of completion, and runs only what is missing",
    async (journal) => {
      const { view } = await replayed(twoChains, journal);
      expect(view.status).toBe("DONE");
      expect(trace.filter((line) => line.startsWith("saw")).slice(0, journal.length)).toEqual(
        journal.map((name, index) => `saw ${name} at ${index + 1}`),
      );
      const ran = trace.filter((line) => line.startsWith("ran")).map((line) => line.slice(4));
      expect([...ran, ...journal].toSorted()).toEqual(["a1", "a2", "b1", "b2"]);
      expect(view.steps).toBe(4);
    },
  );

  test("sees the same time and chance as the hop before", async () => {
    const draw = async (ctx: WorkflowContext) => {
      trace.push(`${ctx.random()} ${ctx.uuid()} ${ctx.now().toISOString()}`);
      await ctx.step("one", () => 1);
      trace.push(`${ctx.random()} ${ctx.uuid()}`);
      return null;
    };
    body = draw;
    const made = await makeRun(world.db, { workflow: "any", digest: "any@1" });
    await makeJournal(world.db, made, [["one", 1]]);
    const other = await makeRun(world.db, { workflow: "any", digest: "any@1" });
    await world.deliver([`run:${made.runId}:1`]);
    const first = trace;
    trace = [];
    await world.deliver([`run:${other.runId}:1`]);
    expect(first[0]?.split(" ")[0]).not.toBe(trace[0]?.split(" ")[0]);
    expect(new Set(first.concat(trace)).size).toBe(4);
  });

  test.each([
    [
      "an entry that is not asked for",
      ["gone"],
      /journal entry 1 is step "gone", but the code asks for step "one"/,
    ],
    [
      "an entry after the code has returned",
      ["one", "two"],
      /journal entry 2 is step "two", but the code does not ask for it/,
    ],
    ["another use of the name", ["one", "one"], /step "one" \(use 2\)/],
  ])("%s refuses: the code changed, and nothing is executed", async (_name, journal, message) => {
    const { view, outcomes } = await replayed(async (ctx) => {
      await ctx.step("one", () => void trace.push("ran"));
      return 1;
    }, journal);
    expect(view).toMatchObject({ status: "FAILED", error: { code: "journal_mismatch" } });
    expect(view.error?.message).toMatch(message);
    expect(trace).toEqual([]);
    expect(outcomes).toMatchObject([{ done: true }]);
  });

  test("code that asks a little late, after an import, is waited for", async () => {
    const { view } = await replayed(
      async (ctx) => {
        await import("node:url");
        await new Promise((resolve) => setTimeout(resolve, 20));
        return ctx.step("one", () => "ran");
      },
      [["one", "kept"]],
    );
    expect(view).toMatchObject({ status: "DONE", output: "kept" });
  });

  test("a journaled failure is thrown again, the same", async () => {
    const failing = async (ctx: WorkflowContext) => {
      try {
        await ctx.step("fails", () => {
          throw new RangeError("too far");
        });
      } catch (error) {
        trace.push(`${(error as Error).name}: ${(error as Error).message}`);
      }
      await ctx.step("crash", () => 1);
      return null;
    };
    body = failing;
    const { runId } = await world.submit("any");
    await world.drain();
    const live = trace;
    trace = [];
    // The same run once more from its journal, as if its worker had been lost before "crash".
    const [entry] = await world.db.admin<{ result_text: string }>(
      "select result_text from ghouls.journal where run_id = $1 and name = 'fails'",
      [runId],
    );
    const made = await makeRun(world.db, { workflow: "any", digest: "any@1" });
    await makeJournal(world.db, made, [["fails", JSON.parse(entry?.result_text ?? "")]]);
    await world.db.admin("update ghouls.journal set outcome = 'error' where run_id = $1", [made.runId]);
    await world.deliver([`run:${made.runId}:1`]);
    expect(trace).toEqual(live);
    expect(trace).toEqual(['StepFailedError: step "fails" failed after 1 try: too far']);
  });

  test.each([
    [
      "an altered result",
      "update ghouls.journal set result_text = '\"other\"' where run_id = $1",
      /entry 1 disagrees with its digest/,
    ],
    [
      "a missing entry",
      "delete from ghouls.journal where run_id = $1 and ordinal = 1",
      /has 1 entries, the run says 2/,
    ],
    [
      "an emptied result",
      "update ghouls.journal set result_text = null where run_id = $1",
      /result of journal entry 1 is gone/,
    ],
    [
      "an altered input",
      "update ghouls.runs set input_text = '7' where run_id = $1",
      /the input disagrees with its digest/,
    ],
  ])("%s quarantines the run and gives its delivery back, in one commit", async (_name, damage, reason) => {
    body = (ctx) => ctx.step("one", () => void trace.push("ran"));
    const made = await makeRun(world.db, { workflow: "any", digest: "any@1" });
    await makeJournal(world.db, made, ["one", "two"]);
    await world.db.admin(damage, [made.runId]);
    const [outcome] = await world.deliver([`run:${made.runId}:1`]);
    expect(outcome).toMatchObject({ done: true, reason: "quarantined" });
    expect(trace).toEqual([]);
    expect(await statusesOf(world.db, made)).toEqual({ run: "QUEUED", delivery: "SETTLED", seq: 2 });
    const view = await world.view(made.runId);
    expect(view.quarantine?.reason).toMatch(reason);
    // What a quarantined run is asked to do next is refused, and its message goes.
    expect(await world.deliver([`run:${made.runId}:2`])).toMatchObject([
      { done: true, reason: "quarantined" },
    ]);
  });

  test("a claim under another digest refuses by name", async () => {
    const made = await makeRun(world.db, { workflow: "any", digest: "an-older-one" });
    const gone = await makeRun(world.db, { workflow: "removed", digest: "x" });
    body = () => Promise.resolve(void trace.push("ran"));
    await world.deliver([`run:${made.runId}:1`, `run:${gone.runId}:1`]);
    expect((await world.view(made.runId)).error).toMatchObject({
      code: "workflow_changed",
      message: expect.stringContaining("an-older-one"),
    });
    expect((await world.view(gone.runId)).error?.message).toContain("has none of that name");
    expect(trace).toEqual([]);
  });

  test("logs before the first step too, where nothing was said before", async () => {
    const before = world.logged.length;
    await runs(async (ctx) => {
      ctx.log.info("at once");
      await ctx.step("one", () => 1);
      return null;
    });
    expect(world.logged.slice(before).map((line) => line.message)).toContain("at once");
  });

  test("logs what is new, and not what was said before", async () => {
    const { made } = await replayed(
      async (ctx) => {
        ctx.log.info("before");
        await ctx.step("one", () => 1);
        ctx.log.info("after");
        await ctx.step("two", () => 2);
        ctx.log.info("live");
        return null;
      },
      ["one"],
    );
    expect(made.status).toBe("QUEUED");
    const said = world.logged
      .map((line) => line.message)
      .filter((line) => ["before", "after", "live"].includes(line));
    expect(said).toEqual(["live"]);
  });
});
