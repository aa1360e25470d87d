import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  identityCodec,
  parseEventId,
  START_OF_EVENTS,
  type Clock,
  type Logger,
  type wire,
} from "@ghouls/core";
import { createClosing, createEvents, createOpening, LiveChannel, type Follower } from "@ghouls/engine";
import { workflow, type WorkflowContext } from "ghouls";
import { testDynamo } from "../support/dynamodb.ts";
import { until } from "../support/wait.ts";
import { testWorld } from "../support/world.ts";

let body: (ctx: WorkflowContext) => Promise<unknown> = () => Promise.resolve();
const any = workflow({
  name: "any",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => body(ctx),
});
const dynamo = await testDynamo();
/** The time of this process: what is on its way is waited for by it, and nothing here waits. */
let nowMs = 0;
let laterMs = 0;
const clock: Clock = { monotonicMs: () => nowMs, wallMs: () => Date.now() + laterMs };
const store = dynamo.events({ clock, keepMs: 600_000 });
const warned: string[] = [];
const silent = () => undefined;
const log: Logger = {
  debug: silent,
  info: silent,
  error: silent,
  warn: (message) => void warned.push(message),
};
const live = new LiveChannel({ store, clock, log });
const world = await testWorld({
  workflows: [any],
  live,
  open: createOpening({ store, clock, log }),
  closeChannel: createClosing({ store, log }),
});
const events = createEvents({ ledger: world.ledger, codec: identityCodec, store, clock, log });

beforeEach(async () => {
  dynamo.be("up");
  nowMs += 3_600_000;
  laterMs = 0;
  warned.length = 0;
  body = () => Promise.resolve();
  await world.reset();
});

async function follower(runId: string, after?: string): Promise<Follower> {
  const found = await events.follow("acme", runId, after);
  if (found === undefined) throw new Error("there is no such run");
  return found;
}

/** All that there is to be told by now. */
async function told(one: Follower, lookLater = true): Promise<wire.EventBatch[]> {
  const batches: wire.EventBatch[] = [];
  for (let silence = 0; silence < 3 && !one.done;) {
    const some = await one.next();
    batches.push(...some);
    silence = some.length > 0 ? 0 : silence + 1;
    if (lookLater) nowMs += 10_000;
  }
  return batches;
}

const kinds = (batches: readonly wire.EventBatch[]) => batches.flatMap((one) => one.events.map(shown));
function shown(event: wire.RunEvent): string {
  if (event.kind === "chunk") return event.chunk;
  if (event.kind === "emitted") return `${event.name} ${JSON.stringify(event.data)}`;
  if (event.kind === "step") return `step ${event.name}`;
  if (event.kind === "settled") return `settled ${event.outcome}`;
  if (event.kind === "finished") return `finished ${event.status}`;
  return event.kind;
}

const story = async (ctx: WorkflowContext) => {
  await ctx.step("one", () => {
    ctx.stream("tokens", "a");
    ctx.stream("tokens", "b");
    ctx.emit("halfway", { percent: 50 });
  });
  await ctx.sleep("1h");
  ctx.stream("tokens", "c");
  await ctx.step("two", () => 2);
};
const STORY = [
  "admitted",
  "published",
  "claimed",
  "a",
  "b",
  'halfway {"percent":50}',
  "step one",
  "settled parked",
  "published",
  "claimed",
  "step 1h",
  "c",
  "step two",
  "settled done",
  "finished DONE",
];

/**
 * What the ledger has of it, with the copies of what was emitted: a wait ends before the delivery that goes on from it is
 * published.
 */
const KEPT = [
  "admitted",
  "published",
  "claimed",
  'halfway {"percent":50}',
  "step one",
  "settled parked",
  "step 1h",
  "published",
  "claimed",
  "step two",
  "settled done",
  "finished DONE",
];

describe("whoever follows a run", () => {
  test("is told all of it in order, each once, live output included, and its end last", async () => {
    body = story;
    const { runId } = await world.submit("any");
    const one = await follower(runId);
    const before = await told(one, false);
    await world.drain();
    const parked = await told(one, false);
    await world.later(3_700);
    await world.drain();
    const rest = await told(one);
    expect(kinds([...before, ...parked, ...rest])).toEqual(STORY);
    expect(one.done).toBe(true);
    expect(kinds(await told(await follower(runId)))).toEqual(STORY);
    expect(warned).toEqual([]);
  });

  test("may go away after any batch: another one goes on behind it, and misses and repeats nothing", async () => {
    body = story;
    const { runId } = await world.submit("any");
    await world.drain();
    await world.later(3_700);
    await world.drain();
    const all = await told(await follower(runId));
    expect(all.length).toBeGreaterThan(4);
    for (const [at, { id }] of all.entries()) {
      const rest = await told(await follower(runId, id));
      expect([...kinds(all.slice(0, at + 1)), ...kinds(rest)]).toEqual(STORY);
    }
    expect((await follower(runId, "end")).done).toBe(true);
  });

  test("gets from the ledger what it has, and a mark, where nothing was kept", async () => {
    body = story;
    const { runId } = await world.submit("any");
    dynamo.be("throttled");
    await world.drain();
    await world.later(3_700);
    await world.drain();
    dynamo.be("up");
    await world.advance(10);
    expect(kinds(await told(await follower(runId)))).toEqual([...KEPT.slice(0, 2), "gap", ...KEPT.slice(2)]);
    expect(warned.length).toBeGreaterThan(0);
  });

  test("gets the beginning from the ledger, marked, where it has expired, and the rest with its live output", async () => {
    body = story;
    const { runId } = await world.submit("any");
    await world.drain();
    laterMs += 300_000;
    await world.later(3_700);
    await world.drain();
    laterMs += 400_000;
    expect(kinds(await told(await follower(runId)))).toEqual([
      "admitted",
      "gap",
      ...KEPT.slice(1, 9),
      ...STORY.slice(11),
    ]);
    laterMs += 400_000;
    await world.advance(10);
    expect(kinds(await told(await follower(runId)))).toEqual(["admitted", "gap", ...KEPT.slice(1)]);
  });

  test("is told by the ledger alone while the store is out of reach, and goes on where it comes back", async () => {
    body = story;
    const { runId } = await world.submit("any");
    const one = await follower(runId);
    dynamo.be("throttled", "Query");
    await world.drain();
    const alone = await told(one);
    expect(kinds(alone)).toEqual(["admitted", "gap", ...KEPT.slice(1, 6)]);
    expect(warned).toEqual(["the live channel is out of reach; the ledger tells what it has"]);
    dynamo.be("up");
    await world.later(3_700);
    await world.drain();
    expect(kinds(await told(one))).toEqual(STORY.slice(8));
  });

  test("sees a hole where output was lost on the way, and nothing of what came before it again", async () => {
    body = async (ctx) => {
      await ctx.step("one", () => ctx.stream("tokens", "kept"));
      await ctx.sleep("1h");
      await ctx.step("two", () => ctx.stream("tokens", "lost"));
      await ctx.sleep("1h");
      await ctx.step("three", () => ctx.stream("tokens", "kept again"));
    };
    const { runId } = await world.submit("any");
    await world.drain();
    dynamo.be("throttled", "PutItem");
    await world.later(3_700);
    await world.drain();
    dynamo.be("up");
    nowMs += 10_000;
    await world.later(3_700);
    await world.drain();
    expect(kinds(await told(await follower(runId)))).toEqual([
      "admitted",
      "published",
      "claimed",
      "kept",
      "step one",
      "settled parked",
      "published",
      "gap",
      "step 1h",
      "claimed",
      "step two",
      "settled parked",
      "step 1h",
      "published",
      "claimed",
      "kept again",
      "step three",
      "settled done",
      "finished DONE",
    ]);
  });

  test("is told again what was emitted in a hole, where it belongs and each once, however much it is", async () => {
    const names = Array.from({ length: 250 }, (_, at) => `e${at}`);
    body = async (ctx) => {
      ctx.emit("first");
      await ctx.step("one", () => {
        ctx.stream("tokens", "lost");
        for (const name of names) ctx.emit(name);
      });
      await ctx.sleep("1h");
      ctx.emit("last");
    };
    const { runId } = await world.submit("any");
    const before = await follower(runId);
    dynamo.be("throttled", "PutItem");
    await world.drain();
    dynamo.be("up");
    nowMs += 10_000;
    const first = await told(before);
    await world.later(3_700);
    await world.drain();
    const all = [...first, ...(await told(before))];
    const expected = [
      "admitted",
      "published",
      "gap",
      "claimed",
      "first null",
      ...names.map((name) => `${name} null`),
      "step one",
      "settled parked",
      "published",
      "claimed",
      "step 1h",
      "last null",
      "settled done",
      "finished DONE",
    ];
    expect(kinds(all)).toEqual(expected);
    // Whoever goes on behind any batch of it misses and repeats nothing, but the mark.
    const unmarked = (list: readonly string[]) => list.filter((kind) => kind !== "gap");
    const whole = await told(await follower(runId));
    expect(unmarked(kinds(whole)).toSorted()).toEqual(unmarked(expected).toSorted());
    for (const [at, { id }] of whole.entries()) {
      const rest = kinds(await told(await follower(runId, id)));
      expect(unmarked([...kinds(whole.slice(0, at + 1)), ...rest])).toEqual(unmarked(kinds(whole)));
    }
  });

  test("is told what a running hop has emitted, and could not say live, when it can no longer be on its way", async () => {
    const [said, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    body = async (ctx) => {
      await ctx.step("one", async () => {
        ctx.emit("begun", { by: "me" });
        said.resolve();
        await end.promise;
      });
    };
    const { runId } = await world.submit("any");
    const one = await follower(runId);
    dynamo.be("throttled", "PutItem");
    const carrying = world.drain();
    await said.promise;
    const copied = () => world.db.admin("select from ghouls.evidence where run_id = $1", [runId]);
    await until("its copy", async () => (await copied()).length > 0);
    expect(kinds(await told(one))).toEqual(["admitted", "published", "gap", "claimed"]);
    laterMs += 5_000;
    expect(kinds(await told(one))).toEqual(["gap", 'begun {"by":"me"}']);
    dynamo.be("up");
    nowMs += 10_000;
    end.resolve();
    await carrying;
    expect(kinds(await told(one))).toEqual(["step one", "settled done", "finished DONE"]);
  });

  test("goes on without what was emitted where its copy cannot be read", async () => {
    body = story;
    const { runId } = await world.submit("any");
    dynamo.be("throttled");
    await world.drain();
    dynamo.be("up");
    const codec = { ...identityCodec, decode: () => Promise.reject(new Error("no key")) };
    const one = await createEvents({ ledger: world.ledger, codec, store, clock, log }).follow(
      "acme",
      runId,
      undefined,
    );
    if (one === undefined) throw new Error("there is no such run");
    warned.length = 0;
    expect(kinds(await told(one))).toEqual([
      "admitted",
      "published",
      "gap",
      "claimed",
      "step one",
      "settled parked",
    ]);
    expect(warned).toEqual(["the copy of an emitted event cannot be read"]);
  });

  test("sees that a worker was lost, and all that the next one does", async () => {
    let lost = true;
    body = async (ctx) => {
      await ctx.step("one", () => ctx.stream("tokens", "a"));
      await ctx.step("two", () => {
        ctx.stream("tokens", lost ? "b" : "b again");
        if (lost) return new Promise<never>(() => undefined);
      });
    };
    const { runId } = await world.submit("any");
    const one = await follower(runId);
    const carrying = world.deliver([`run:${runId}:1`]);
    const before: string[] = [];
    await until("what it said", async () => {
      before.push(...kinds(await one.next()));
      return before.includes("b");
    });
    expect(before).toEqual(["admitted", "published", "claimed", "a", "step one", "b"]);
    lost = false;
    await world.advance(130);
    await world.reconcile();
    await world.drain();
    // Its end waits until nothing of the lost worker can act any more.
    await world.later(1_200);
    expect(kinds(await told(one))).toEqual([
      "settled lost",
      "published",
      "claimed",
      "b again",
      "step two",
      "settled done",
      "finished DONE",
    ]);
    void carrying;
  });

  test("is told of the end by the ledger where nobody else could say it", async () => {
    const { runId } = await world.submit("any", undefined, { held: true });
    const one = await follower(runId);
    expect(kinds(await told(one, false))).toEqual(["admitted"]);
    await world.control.cancel({ tenantId: "acme", subject: "user:ada", roles: [] }, runId, "not needed");
    expect(kinds(await told(one))).toEqual(["fenced", "finished CANCELLED"]);
  });

  test("finds no run of another tenant, none that is absent, and no place that is none", async () => {
    const { runId } = await world.submit("any");
    expect(await events.follow("other", runId, undefined)).toBeUndefined();
    expect(await events.follow("acme", "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c", undefined)).toBeUndefined();
    expect(await events.follow("acme", "no-id", undefined)).toBeUndefined();
    await expect(events.follow("acme", runId, "1.9.0.0")).rejects.toThrow("this event id is not one of ours");
  });
});

test("1,000 events a second of one run keep their order", async () => {
  const words = Array.from({ length: 5_000 }, (_, at) => `w${at}`);
  body = async (ctx) => {
    await ctx.step("talk", async () => {
      for (const [at, word] of words.entries()) {
        ctx.stream("tokens", word);
        if (at % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
  };
  const { runId } = await world.submit("any");
  const one = await follower(runId);
  const seen: string[] = [];
  let working = true;
  const work = world.drain().finally(() => {
    working = false;
  });
  while (working) {
    seen.push(...kinds(await one.next()));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await work;
  seen.push(...kinds(await told(one)));
  expect(seen.filter((kind) => kind.startsWith("w"))).toEqual(words);
  expect(seen.at(-1)).toBe("finished DONE");
  expect(seen).not.toContain("gap");
});

test("what a run emits is kept with the copies of its steps", async () => {
  body = story;
  const { runId } = await world.submit("any");
  await world.drain();
  const rows = await world.db.admin(
    "select call, body_text, ordinal from ghouls.evidence where run_id = $1 order by completed_at, call",
    [runId],
  );
  expect(rows).toContainEqual({ call: '["emit","halfway"]', body_text: '{"percent":50}', ordinal: null });
});

test("a place is what its id says", () => {
  expect(parseEventId("0.3.0.0")).toEqual(START_OF_EVENTS);
  for (const id of ["", "end", "1.2.3", "1.4.0.0", "1.2.3.4.5", "-1.0.0.0"])
    expect(parseEventId(id)).toBeUndefined();
});
