import { beforeEach, describe, expect, test } from "vitest";
import { notDone, workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import { sha256, type PayloadContext } from "@ghouls/core";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Waits beside effects, retries, cold modules and codecs that fail: what a run must not lose or do twice. */

type Code = (ctx: WorkflowContext, input: { readonly n?: number }) => Promise<unknown>;
let code: Code = () => Promise.resolve();
let failingKind: string | undefined;
let codecKey = "";
const base = {
  version: 1,
  input: z.object({ n: z.number().optional() }),
  run: (ctx: WorkflowContext, given: { n?: number | undefined }) =>
    code(ctx, given.n === undefined ? {} : { n: given.n }),
} as const;
const job = workflow({ ...base, name: "job", onWorkerLoss: "resume" });
/** A loss of its worker would end it. */
const brittle = workflow({ ...base, name: "brittle", onWorkerLoss: "fail" });

const world = await testWorld({
  workflows: [job, brittle],
  // Long enough for a machine that loads slowly.
  settings: { residentDelayMs: 50, replayPatienceMs: 10_000, parkRestMs: 400 },
  codec: {
    encode: (text: string, { kind }: PayloadContext) =>
      kind === failingKind ? Promise.reject(new Error("the key service is down")) : Promise.resolve(text),
    decode: (text: string) => Promise.resolve(text),
    digest: (text: string) => Promise.resolve(sha256(codecKey + text)),
  },
});
const { later } = world;

beforeEach(async () => {
  failingKind = undefined;
  codecKey = "";
  world.logged.length = 0;
  await world.reset();
});

async function start(run: Code, name = "job"): Promise<string> {
  code = run;
  const { runId } = await world.submit(name, {});
  await world.drain();
  return runId;
}

async function signal(runId: string, name: string): Promise<void> {
  await world.signals.send(SOMEBODY, runId, { name, payloadText: undefined });
  await world.drain();
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const LEGAL = { deciders: ["role:legal"] };
let modules = 0;
/** A module that this process does not have yet. */
function cold(): Promise<unknown> {
  modules += 1;
  return import(
    `data:text/javascript,await new Promise((r) => setTimeout(r, 5)); export const n = ${modules}`
  );
}

describe("an effect that happens once", () => {
  test("and has certainly not, is tried again in the same hop after its delay, and no worker is lost by it", async () => {
    let calls = 0;
    const runId = await start(async (ctx) => {
      const pay = () => {
        calls += 1;
        if (calls < 2) throw notDone(new Error("busy"));
      };
      const backoff = { initial: "200ms", factor: 1 } as const;
      await Promise.all([
        ctx.step("pay", pay, { effect: "once", tries: 3, backoff }),
        ctx.step("long", async () => {
          while (calls < 2) await pause(10);
        }),
      ]);
      return "end";
    }, "brittle");
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end", enqueueSeq: 1 });
    expect(calls).toBe(2);
  });

  test("and whose outcome is unknown, ends the run as such, although it was about to continue as new", async () => {
    const calls: number[] = [];
    const runId = await start(async (ctx, { n = 0 }) => {
      const pay = ctx.step(
        "pay",
        async () => {
          calls.push(n);
          await pause(40);
          if (n === 0) throw new Error("a timeout");
        },
        { effect: "once" },
      );
      if (n === 1) return pay;
      await ctx.step("quick", () => 1);
      return ctx.restart({ n: 1 });
    });
    expect(calls).toEqual([0]);
    expect(await world.view(runId)).toMatchObject({ errorCode: "effect_unknown" });
  });

  test("is asked about by its probe before the run continues as new", async () => {
    const calls: string[] = [];
    const runId = await start(async (ctx, { n = 0 }) => {
      if (n === 1) return "new";
      const pay = async () => {
        calls.push("pay");
        await pause(40);
        throw new Error("a timeout");
      };
      const probe = () => {
        calls.push("probe");
        return { outcome: "happened" as const, result: undefined };
      };
      void ctx.step("pay", pay, { effect: "once", probe });
      await ctx.step("quick", () => 1);
      return ctx.restart({ n: 1 });
    });
    await later(60);
    expect(calls).toEqual(["pay", "probe"]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "new" });
  });
});

describe("a step that waits for its next try", () => {
  test("waits as long beyond a handover", async () => {
    const calls: number[] = [];
    code = (ctx) =>
      Promise.all([
        ctx.step(
          "flaky",
          ({ tryNumber }) => {
            calls.push(tryNumber);
            if (tryNumber === 1) throw new Error("down");
          },
          { tries: 2, backoff: { initial: "1h", factor: 1 } },
        ),
        (async () => {
          for (let n = 0; n < 12; n += 1) await ctx.step(`s${n}`, () => pause(40));
        })(),
      ]).then(() => "end");
    const { runId } = await world.submit("job", {});
    for (let seq = 1; seq <= 3; seq += 1) {
      const drain = new AbortController();
      setTimeout(() => drain.abort(), 60);
      await world.deliver([`run:${runId}:${seq}`], { draining: drain.signal });
    }
    expect(calls).toEqual([1]);
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    await later(3_700);
    expect(calls).toEqual([1, 2]);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "end" });
  });

  test("is told of where the workflow has returned without it", async () => {
    const runId = await start(async (ctx) => {
      const down = () => Promise.reject(new Error("down"));
      void ctx.step("audit", down, { tries: 3, backoff: { initial: "30s", factor: 1 } });
      await ctx.step("other", () => pause(20));
    });
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(world.logged).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringContaining("did not wait for") }),
    );
  });
});

describe("code behind a module that is not loaded yet", () => {
  test("is waited for before its run parks", async () => {
    const ran: string[] = [];
    await start((ctx) =>
      Promise.all([
        ctx.consent("c", LEGAL),
        cold().then(() =>
          ctx.step("sign", () => {
            ran.push("sign");
          }),
        ),
      ]),
    );
    expect(ran).toEqual(["sign"]);
  });

  test("waits for its signal like any other", async () => {
    const runId = await start((ctx) =>
      ctx.first({ a: ctx.waitForSignal("a"), b: cold().then(() => ctx.waitForSignal("b")) }),
    );
    await signal(runId, "b");
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
  });

  test("is asked again in a cold process for what a warm one had opened", async () => {
    let load: () => Promise<unknown> = () => Promise.resolve();
    const runId = await start((ctx) =>
      Promise.all([
        ctx.waitForSignal("a"),
        load().then(() => ctx.waitForSignal("b")),
        ctx.waitForSignal("c"),
      ]),
    );
    // Longer than code has to have been at rest.
    load = async () => {
      await pause(800);
      return cold();
    };
    await signal(runId, "c");
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_SIGNAL", error: null });
    const { waits } = await world.view(runId);
    expect(waits.map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
  });
});

describe("a codec", () => {
  test("that cannot encode a consent just now costs no loss: the run asks a little later", async () => {
    failingKind = "consent";
    const runId = await start((ctx) => ctx.consent("c", LEGAL), "brittle");
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED" });
    failingKind = undefined;
    await later(40);
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT" });
  });

  test("that cannot encode the input of a restart just now costs no loss", async () => {
    code = async (ctx, { n = 0 }) => {
      if (n === 1) return "new";
      failingKind = "input";
      await ctx.step("one", () => 1);
      return ctx.restart({ n: 1 });
    };
    const { runId } = await world.submit("brittle", {});
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED" });
    code = (ctx, { n = 0 }) =>
      n === 1 ? Promise.resolve("new") : ctx.step("one", () => 1).then(() => ctx.restart({ n: 1 }));
    failingKind = undefined;
    await later(40);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: "new" });
  });

  test("whose digest has a new key leaves a consent that stands open as it was asked", async () => {
    const runId = await start((ctx) => Promise.all([ctx.sleep("1m"), ctx.consent("c", LEGAL)]));
    codecKey = "rotated";
    await later(100);
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT" });
    const { consents } = await world.consents.list("acme", { runId }, { limit: 10 });
    expect(consents).toHaveLength(1);
  });

  test("whose digest has a new key does not let another request pass for the one that stands open", async () => {
    let title = "c";
    const runId = await start((ctx) =>
      Promise.all([ctx.sleep("1m"), ctx.consent("c", { ...LEGAL, detail: title })]),
    );
    [codecKey, title] = ["rotated", "d"];
    await later(100);
    expect((await world.view(runId)).error).toMatchObject({ code: "journal_mismatch" });
  });
});

test("a timer that is taken over from park to park is sent once", async () => {
  const wakes: string[] = [];
  const send = world.queue.wake.bind(world.queue);
  world.queue.wake = (sent) => {
    wakes.push(...sent.map(({ armId }) => armId));
    return send(sent);
  };
  const runId = await start(async (ctx) => {
    const nap = ctx.sleep("10m");
    for (let n = 0; n < 3; n += 1) await ctx.waitForSignal("go");
    await nap;
  });
  for (let n = 0; n < 3; n += 1) await signal(runId, "go");
  world.queue.wake = send;
  expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
  expect(wakes).toHaveLength(1);
});
