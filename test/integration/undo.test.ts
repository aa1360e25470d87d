import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { notDone, type StepOptions, type WorkflowContext } from "ghouls";
import { idempotencyKeyOf, undoKeyOf, type FaultPoint } from "@ghouls/core";
import { undoWorld, type Code } from "../support/undo-world.ts";
import { until } from "../support/wait.ts";
import { SOMEBODY } from "../support/world.ts";

const { under, world, child, step, started, carried, statusOf, undosOf } = await undoWorld();
const { db, ledger } = world;

const three: Code = async (ctx) => {
  for (const name of ["one", "two", "three"]) await step(ctx, name);
  throw new Error("no");
};
const UNDONE = ["undo three: three is done", "undo two: two is done", "undo one: one is done"];

describe("a run that fails", () => {
  test("undoes its steps in reverse order before it is FAILED, each under a key of its own", async () => {
    const keys: string[][] = [];
    const runId = await carried(async (ctx) => {
      await step(ctx, "plain", { undo: undefined as never });
      for (const name of ["one", "two"])
        await step(ctx, name, {
          undo: ({ idempotencyKey, stepIdempotencyKey, result }) => {
            keys.push([idempotencyKey, stepIdempotencyKey]);
            under.trace.push(`undo ${name}: ${result}`);
          },
        });
      throw new Error("no");
    });
    expect(await statusOf(runId)).toBe("FAILING");
    expect(await undosOf(runId)).toMatchObject([
      { subject: "one", acknowledgedAt: null },
      { subject: "two", acknowledgedAt: null },
    ]);
    await world.later(1);
    expect(under.trace).toEqual(["plain", "one", "two", "undo two: two is done", "undo one: one is done"]);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "workflow_failed" });
    expect(await undosOf(runId)).toMatchObject([
      { acknowledgedBy: "undo", acknowledgement: "it is undone" },
      { acknowledgedBy: "undo" },
    ]);
    const call = (name: string) => ({ epoch: 0, scope: "", kind: "step", name, nth: 1 }) as const;
    expect(keys).toEqual(
      ["two", "one"].map((name) => [undoKeyOf(runId, call(name)), idempotencyKeyOf(runId, call(name))]),
    );
  });

  test("undoes nothing where it was not to fail: a result stands", async () => {
    const runId = await carried(async (ctx) => {
      await step(ctx, "one");
      return "done";
    });
    await world.later(1);
    expect([await statusOf(runId), under.trace]).toEqual(["DONE", ["one"]]);
  });

  test("undoes what has thrown as well, unless every try of it says that it has not happened", async () => {
    const thrown =
      (error: Error | (() => Error)) =>
      (ctx: WorkflowContext, name: string, tries = 1) =>
        ctx
          .step(
            name,
            () => {
              throw typeof error === "function" ? error() : error;
            },
            {
              tries,
              backoff: { initial: "1ms" },
              undo: ({ outcome }) => under.trace.push(`undo ${name}: ${outcome}`),
            },
          )
          .catch(() => undefined);
    let times = 0;
    const runId = await carried(async (ctx) => {
      await thrown(new Error("half done"))(ctx, "one");
      await thrown(notDone(new Error("refused")))(ctx, "two", 2);
      await thrown(() => ((times += 1) === 1 ? new Error("half done") : notDone(new Error("refused"))))(
        ctx,
        "three",
        2,
      );
      throw new Error("no");
    });
    await world.later(1);
    expect([await statusOf(runId), under.trace]).toEqual([
      "FAILED",
      ["undo three: failed", "undo one: failed"],
    ]);
  });

  test("undoes them in the items of a map, and in what a reservation was held for", async () => {
    const runId = await carried(async (ctx) => {
      await ctx.map("files", [1, 2], (item) => step(ctx, `file ${item}`), { concurrency: 1 });
      throw new Error("no");
    });
    await world.later(1);
    expect(await statusOf(runId)).toBe("FAILED");
    expect(under.trace.slice(2)).toEqual(["undo file 2: file 2 is done", "undo file 1: file 1 is done"]);
  });

  test("undoes steps that run side by side in reverse order of their calls, however late one of them comes to start", async () => {
    under.passing = async (point, detail) => {
      if (point === "worker.before-step" && detail === "one") await setTimeout(100);
    };
    const runId = await carried(async (ctx) => {
      await Promise.all(["one", "two", "three"].map((name) => step(ctx, name)));
      throw new Error("no");
    });
    await world.later(1);
    expect([await statusOf(runId), under.trace.slice(3)]).toEqual(["FAILED", UNDONE]);
  });

  test("by a lost worker undoes what that may have done, once nothing of it can act", async () => {
    const runId = await started(async (ctx) => {
      await step(ctx, "one");
      return step(ctx, "two");
    }, "fails");
    const { promise: never } = Promise.withResolvers<never>();
    const lost = Promise.withResolvers<void>();
    under.passing = (point, detail) => {
      if (point !== "worker.after-step" || detail !== "two") return undefined;
      lost.resolve();
      return never;
    };
    void world.deliver([`run:${runId}:1`], { settings: { ...world.deps.settings, beatMs: 1_000_000 } });
    await lost.promise;
    await world.later(130);
    expect([await statusOf(runId), under.trace]).toEqual(["FAILING", ["one", "two"]]);
    await world.later(2_000);
    expect(under.trace.slice(2)).toEqual(["undo two: unknown", "undo one: one is done"]);
    expect(await world.view(runId)).toMatchObject({ status: "FAILED", errorCode: "ghoul_lost" });
  });
});

describe("a run that is cancelled", () => {
  const parked: Code = async (ctx) => {
    await step(ctx, "one");
    await step(ctx, "two");
    await ctx.waitForSignal("go");
    return "done";
  };

  test("is CANCELLED when all of it is undone, and not before", async () => {
    const runId = await carried(parked);
    const answer = await world.control.cancel(SOMEBODY, runId, "no longer wanted");
    expect(answer.status).toBe("CANCELLING");
    expect(under.trace).toEqual(["one", "two"]);
    await world.later(1);
    expect([await statusOf(runId), under.trace.slice(2)]).toEqual([
      "CANCELLED",
      ["undo two: two is done", "undo one: one is done"],
    ]);
  });

  test("undoes nothing before its children have ended", async () => {
    const runId = await carried(async (ctx) => {
      await step(ctx, "one");
      return ctx.child(child, null, { parentClose: "wait" });
    });
    const [own] = await db.admin<{ run_id: string }>(
      "select run_id from ghouls.runs where parent_run_id = $1",
      [runId],
    );
    await world.control.cancel(SOMEBODY, runId, "no longer wanted");
    await world.later(100);
    expect([await statusOf(runId), under.trace]).toEqual(["CANCELLING", ["one"]]);
    await world.control.cancel(SOMEBODY, own?.run_id ?? "", "that too");
    await world.later(1_000);
    await world.later(1_000);
    expect([await statusOf(runId), under.trace]).toEqual(["CANCELLED", ["one", "undo one: one is done"]]);
  });

  test("before it has started anything is CANCELLED at once", async () => {
    const runId = await started(parked);
    expect((await world.control.cancel(SOMEBODY, runId, "no")).status).toBe("CANCELLED");
    await world.drain();
    expect(under.trace).toEqual([]);
  });
});

describe("what cannot be undone", () => {
  const refusing =
    (mayPass: () => boolean): Code =>
    async (ctx) => {
      await step(ctx, "one");
      await step(ctx, "two", {
        undo: () => {
          under.trace.push("try");
          if (!mayPass()) throw new Error("the bank is closed");
        },
      });
      throw new Error("no");
    };

  test("is tried again later, then asks for a person, and holds up what was started before it", async () => {
    const runId = await carried(refusing(() => false));
    for (const seconds of [1, 40, 200]) await world.later(seconds);
    expect(under.trace.slice(2)).toEqual(["try", "try", "try"]);
    await world.later(10_000);
    expect(under.trace.slice(2)).toEqual(["try", "try", "try"]);
    const view = await world.view(runId);
    expect(view).toMatchObject({
      status: "FAILING",
      attention: { reason: 'containment failed: step "two" could not be undone: the bank is closed' },
    });
    const [one, two] = await undosOf(runId);
    expect([one?.acknowledgedAt, two?.acknowledgedAt, two?.lastError]).toEqual([
      null,
      null,
      "the bank is closed",
    ]);
    // An operator has seen to it; what is left is undone by the code.
    await world.control.resolve(SOMEBODY, runId, two?.id ?? "", "paid back by hand");
    await world.later(10_000);
    await world.later(10_000);
    expect([await statusOf(runId), under.trace.at(-1)]).toEqual(["FAILED", "undo one: one is done"]);
    expect((await undosOf(runId))[1]).toMatchObject({
      acknowledgedBy: "operator",
      acknowledgement: "paid back by hand",
    });
  });

  test("is tried again at an operator's word that its cause is gone", async () => {
    let open = false;
    const runId = await carried(refusing(() => open));
    for (const seconds of [1, 40, 200, 10_000]) await world.later(seconds);
    expect(under.trace.slice(2)).toEqual(["try", "try", "try"]);
    open = true;
    expect(await world.control.clear(SOMEBODY, runId, "the bank is open again")).toMatchObject({
      cleared: true,
      status: "FAILING",
    });
    await world.later(1);
    expect([await statusOf(runId), under.trace.slice(5)]).toEqual([
      "FAILED",
      ["try", "undo one: one is done"],
    ]);
    expect(await db.admin("select act, subject, reason from ghouls.audit")).toEqual([
      { act: "clear", subject: "containment", reason: "the bank is open again" },
    ]);
    expect(await world.control.clear(SOMEBODY, runId, "again")).toMatchObject({ cleared: false });
  });

  test("for a while is undone in the end", async () => {
    let open = false;
    const runId = await carried(refusing(() => open));
    await world.later(1);
    open = true;
    await world.later(40);
    expect([await statusOf(runId), under.trace.slice(2)]).toEqual([
      "FAILED",
      ["try", "try", "undo one: one is done"],
    ]);
    // It asked for a person meanwhile; nobody is needed any more.
    expect((await world.view(runId)).attention).toBeNull();
  });

  test("is tried at once where an operator says so before its next try is due", async () => {
    let open = false;
    const runId = await carried(refusing(() => open));
    await world.later(1);
    open = true;
    expect(await world.control.clear(SOMEBODY, runId, "the bank is open")).toMatchObject({ cleared: true });
    await world.later(1);
    expect([await statusOf(runId), under.trace.slice(2)]).toEqual([
      "FAILED",
      ["try", "try", "undo one: one is done"],
    ]);
  });

  test("because its code is not what it was is told, and nothing else is called", async () => {
    const runId = await carried(three);
    under.body = () => Promise.reject(new Error("other code"));
    await world.later(1);
    expect((await world.view(runId)).attention?.reason).toContain(
      "this code is not what the run's journal is of",
    );
    expect(under.trace).toEqual(["one", "two", "three"]);
    under.body = three;
    await world.later(40);
    expect([await statusOf(runId), under.trace.slice(3)]).toEqual(["FAILED", UNDONE]);
  });
});

describe("an effect that happens once, and has an undo", () => {
  const paying = (probe: StepOptions<string>["probe"]): Code => {
    const once = { effect: "once", ...(probe === undefined ? {} : { probe }) } as const;
    return async (ctx) => {
      await step(ctx, "one");
      return step(ctx, "pay", once);
    };
  };
  async function lostWhilePaying(probe: StepOptions<string>["probe"], at: FaultPoint): Promise<string> {
    under.passing = (point, detail) => {
      if (point === at && detail === "pay") throw new Error("its worker is gone");
    };
    const runId = await carried(paying(probe), "fails");
    under.passing = undefined;
    await world.later(130);
    for (let round = 0; round < 4; round += 1) await world.later(1_000);
    return runId;
  }

  test.each([
    ["it cannot have happened: it is not undone", "cannot_happen", []],
    ["it has happened: it is undone with what that answers", "happened", ["undo pay: x"]],
    ["it does not know: it is undone whether it has happened or not", "unknown", ["undo pay: unknown"]],
    ["there is none: it is undone whether it has happened or not", undefined, ["undo pay: unknown"]],
  ] as const)("whose probe says that %s", async (_, outcome, undone) => {
    const probe = outcome === undefined ? undefined : () => ({ outcome, result: "x" });
    const runId = await lostWhilePaying(probe, "worker.after-intent");
    expect(await statusOf(runId)).toBe("FAILED");
    expect(under.trace.slice(1)).toEqual([...undone, "undo one: one is done"]);
  });

  test("that was lost before its intent is not undone: it was never called", async () => {
    const runId = await lostWhilePaying(undefined, "worker.before-intent");
    expect(await statusOf(runId)).toBe("FAILED");
    expect(under.trace).toEqual(["one", "undo one: one is done"]);
  });
});

describe("whoever undoes", () => {
  test("and is lost between an undo and its acknowledgement has it called again, under the same key", async () => {
    const keys: string[] = [];
    const runId = await carried(async (ctx) => {
      await step(ctx, "one", { undo: ({ idempotencyKey }) => keys.push(idempotencyKey) });
      throw new Error("no");
    });
    let times = 0;
    under.passing = (point, detail) => {
      if (point === "ledger.before-statement" && detail === "items.acknowledge" && keys.length > 0)
        if ((times += 1) === 1) throw Object.assign(new Error("by a test"), { code: "XX000" });
    };
    await world.later(1);
    expect(await statusOf(runId)).toBe("FAILING");
    for (let round = 0; round < 4; round += 1) await world.later(1_000);
    expect(await statusOf(runId)).toBe("FAILED");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("is let end at a drain, and another one goes on", async () => {
    const draining = new AbortController();
    const runId = await carried(three);
    await world.advance(1);
    await world.reconcile();
    under.passing = (point, detail) => {
      if (point === "worker.before-undo" && detail === "two") draining.abort();
    };
    await world.drain({ deps: { draining: draining.signal } });
    expect(under.trace.slice(3)).toEqual(UNDONE.slice(0, 2));
    under.passing = undefined;
    await world.later(10);
    await world.later(10);
    expect([await statusOf(runId), under.trace.slice(3)]).toEqual(["FAILED", UNDONE]);
  });

  test("and whose claim is gone meanwhile acknowledges nothing", async () => {
    const gate = Promise.withResolvers<void>();
    const runId = await carried(async (ctx) => {
      await step(ctx, "one", {
        undo: async () => {
          under.trace.push("begins");
          await gate.promise;
        },
      });
      throw new Error("no");
    });
    const working = world.later(1);
    await until("it undoes", () => under.trace.includes("begins"));
    await db.admin(
      "update ghouls.deliveries set lease_until = ghouls.clock() - interval '1 second' where run_id = $1 and seq = 2",
      [runId],
    );
    await world.reconcile();
    gate.resolve();
    await working;
    expect((await undosOf(runId))[0]?.acknowledgedAt).toBeNull();
    for (let round = 0; round < 4; round += 1) await world.later(1_000);
    expect(await statusOf(runId)).toBe("FAILED");
  });
});

test("a run of which a step was undone is not redriven: its effects were taken back", async () => {
  const runId = await carried(three);
  await world.later(1);
  expect(await statusOf(runId)).toBe("FAILED");
  await expect(world.admission.redrive(SOMEBODY, runId, "the bank is back")).rejects.toMatchObject({
    code: "not_redrivable",
    message: expect.stringContaining("has been undone: its effects were taken back"),
  });
});

test("a step with an undo and a restart do not go together: nobody could undo it", async () => {
  const runId = await carried(async (ctx) => {
    await step(ctx, "one");
    return ctx.restart(null);
  });
  await world.later(1);
  const view = await world.view(runId);
  expect(view).toMatchObject({ status: "FAILED", errorCode: "invalid_call" });
  expect(view.error?.message).toContain('ctx.restart was called after step "one", which has an undo');
  expect(under.trace).toEqual(["one", "undo one: one is done"]);
});

test("an undo that is no function is refused", async () => {
  const runId = await carried((ctx) => step(ctx, "one", { undo: "no" as never }));
  expect((await world.view(runId)).error?.message).toContain('step "one": an undo is a function');
});

test("a step whose start the ledger cannot take is not called", async () => {
  under.passing = (point, detail) => {
    if (point === "ledger.before-statement" && detail === "undos.start")
      throw Object.assign(new Error("by a test"), { code: "XX000" });
  };
  const runId = await started((ctx) => step(ctx, "one"));
  expect(await world.deliver([`run:${runId}:1`])).toMatchObject([{ reason: "unknown_outcome" }]);
  expect(under.trace).toEqual([]);
  under.passing = undefined;
  await world.later(130);
  await world.later(2_000);
  expect([await statusOf(runId), under.trace]).toEqual(["DONE", ["one"]]);
});

test("doctor names a step that a cancelled run was to undo and has no item of", async () => {
  const runId = await carried(three);
  await world.later(1);
  await db.admin("delete from ghouls.containment_items where run_id = $1 and kind = 'undo'", [runId]);
  expect((await ledger.doctor()).flatMap(({ ok, check }) => (ok ? [] : [check]))).toEqual([
    "a run that fails or is cancelled undoes every step of it that it can",
  ]);
  await world.reset();
  expect(await ledger.undos.ofRun({ tenantId: "acme", runId })).toEqual([]);
});
