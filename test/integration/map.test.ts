import { beforeEach, describe, expect, it } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { SOMEBODY, testWorld } from "../support/world.ts";

const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const calls: string[] = [];
const did = (what: string) => () => {
  calls.push(what);
  return what;
};
let drawn: string[][] = [];
let most = 0;
let now = 0;
const busy = async (what: string) => {
  most = Math.max(most, (now += 1));
  await new Promise((resolve) => setTimeout(resolve, 1));
  now -= 1;
  return did(what)();
};

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const world = await testWorld({
  workflows: [
    workflow({
      ...base,
      name: "steps",
      run: (ctx) =>
        ctx.map("files", ["a", "b", "c"], async (file, index) => {
          const one = await ctx.step("scan", did(`scan ${file}`));
          return { index, one, two: await ctx.step("scan", did(`scan ${file} again`)) };
        }),
    }),
    workflow({
      ...base,
      name: "bounded",
      run: async (ctx) => {
        await ctx.map("wide", numbers(25), (item) => ctx.step("one", () => busy(`${item}`)));
        return ctx.map("narrow", numbers(6), (item) => ctx.step("one", () => busy(`${item}`)), {
          concurrency: 2,
        });
      },
    }),
    workflow({
      ...base,
      name: "waits",
      run: (ctx) =>
        ctx.map("people", ["alan", "grace"], async (person) => {
          const { outcome } = await ctx.consent("agree", { deciders: [`user:${person}`] });
          return ctx.step("note", did(`${person} ${outcome}`));
        }),
    }),
    workflow({
      ...base,
      name: "nested",
      run: (ctx) =>
        ctx.map("rows", [0, 1], (row) =>
          ctx.map("columns", [0, 1], (column) => ctx.step("cell", did(`${row}.${column}`))),
        ),
    }),
    workflow({
      ...base,
      name: "again",
      run: async (ctx) => [
        await ctx.map("same", [1], (item) => ctx.step("s", did(`first ${item}`))),
        await ctx.map("same", [2], (item) => ctx.step("s", did(`second ${item}`))),
      ],
    }),
    workflow({
      ...base,
      name: "twice-at-once",
      run: (ctx) =>
        Promise.all([
          ctx.map("same", [1], () => ctx.step("s", did("never"))),
          ctx.map("same", [2], () => ctx.step("s", did("never"))),
        ]),
    }),
    workflow({
      ...base,
      name: "fails",
      run: async (ctx) => {
        try {
          return await ctx.map(
            "some",
            numbers(5),
            (item) =>
              ctx.step("one", () => {
                did(`${item}`)();
                if (item === 1) throw new Error("item 1 is bad");
                return item;
              }),
            { concurrency: 1 },
          );
        } catch (error) {
          return ctx.step("caught", () => (error as Error).message);
        }
      },
    }),
    workflow({
      ...base,
      name: "inside",
      run: (ctx) => ctx.step("outer", () => ctx.map("inner", [1], () => 1)),
    }),
    workflow({
      ...base,
      name: "empty",
      run: (ctx) => ctx.map("none", [], () => ctx.step("s", did("never"))),
    }),
    workflow({
      ...base,
      name: "deep",
      run: (ctx) => {
        const deeper = (levels: number): Promise<unknown> =>
          levels === 0
            ? ctx.step("s", did("never"))
            : ctx.map("\u{4e2d}".repeat(200), [1], () => deeper(levels - 1));
        return deeper(5);
      },
    }),
    workflow({
      ...base,
      name: "odd",
      run: (ctx) => ctx.map("odd", "text" as never, () => 1),
    }),
    workflow({
      ...base,
      name: "chance",
      run: async (ctx) => {
        const seen = await ctx.map("draw", [0, 1, 2], async (item) => {
          const before = ctx.uuid();
          // The last item comes first, in every hop but the replay of it.
          await ctx.step("wait", () => new Promise((resolve) => setTimeout(resolve, 30 - 10 * item)));
          return [before, ctx.uuid(), String(ctx.random())];
        });
        drawn.push(seen.flat());
        await ctx.sleep("1h");
        return seen.flat();
      },
    }),
  ],
});

beforeEach(async () => {
  calls.length = 0;
  drawn = [];
  most = 0;
  await world.reset();
});

const ended = async (name: string) => {
  const { runId } = await world.submit(name);
  await world.drain();
  return world.view(runId);
};

describe("ctx.map", () => {
  it("makes the calls of each item in a scope of its own, and keeps the order of the results", async () => {
    const run = await ended("steps");
    expect(run).toMatchObject({
      status: "DONE",
      output: ["a", "b", "c"].map((file, index) => ({
        index,
        one: `scan ${file}`,
        two: `scan ${file} again`,
      })),
    });
    const journal = await world.db.admin<{ scope: string; nth: number }>(
      "select scope, nth from ghouls.journal where run_id = $1 order by scope, nth",
      [run.runId],
    );
    expect(journal).toEqual(
      [0, 1, 2].flatMap((index) => [1, 2].map((nth) => ({ scope: `files[${index}]`, nth }))),
    );
  });

  it("carries ten items at the same time, or as many as it says", async () => {
    expect((await ended("bounded")).output).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(calls).toHaveLength(31);
    expect(most).toBe(10);
  });

  it("stands in the waits of its items, which people may end in any order", async () => {
    const { runId } = await world.submit("waits");
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_CONSENT" });
    for (const person of ["grace", "alan"]) {
      const { consents } = await world.consents.list("acme", { runId }, { limit: 10 });
      const consent = consents.find(({ deciders }) => deciders.includes(`user:${person}`));
      await world.consents.decide({ ...SOMEBODY, subject: person }, consent?.consentId ?? "", {
        verdict: "grant",
        digest: consent?.digest ?? "",
      });
      await world.drain();
    }
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: ["alan GRANTED", "grace GRANTED"],
    });
    expect(calls).toEqual(["grace GRANTED", "alan GRANTED"]);
  });

  it("nests", async () => {
    expect((await ended("nested")).output).toEqual([
      ["0.0", "0.1"],
      ["1.0", "1.1"],
    ]);
  });

  it("may use a name again once the first use has ended, and not before", async () => {
    expect((await ended("again")).output).toEqual([["first 1"], ["second 2"]]);
    calls.length = 0;
    expect(await ended("twice-at-once")).toMatchObject({
      status: "FAILED",
      error: {
        code: "duplicate_call",
        message: expect.stringContaining('a map "same" is open already') as string,
      },
    });
    expect(calls).toEqual([]);
  });

  it("throws what the first item threw, which the code may catch, and begins no further one", async () => {
    expect(await ended("fails")).toMatchObject({
      status: "DONE",
      output: 'step "one" failed after 1 try: item 1 is bad',
    });
    expect(calls).toEqual(["0", "1"]);
  });

  it("of nothing is nothing", async () => {
    expect(await ended("empty")).toMatchObject({ status: "DONE", output: [] });
  });

  it("is refused where the names around a call are longer than the ledger's index can keep", async () => {
    expect(await ended("deep")).toMatchObject({
      status: "FAILED",
      error: { code: "invalid_call", message: expect.stringContaining("give them shorter ones") as string },
    });
    expect(calls).toEqual([]);
  });

  it("is refused inside of a step, and for what is no array", async () => {
    expect(await ended("inside")).toMatchObject({
      status: "FAILED",
      error: { code: "invalid_call", message: expect.stringContaining('inside step "outer"') as string },
    });
    expect(await ended("odd")).toMatchObject({
      status: "FAILED",
      error: { code: "invalid_call", message: expect.stringContaining("its items are an array") as string },
    });
  });

  it("gives each item a stream of chance of its own: a replay draws the same, whichever item came first", async () => {
    const { runId } = await world.submit("chance");
    await world.drain();
    await world.later(3_601);
    expect(await world.view(runId)).toMatchObject({ status: "DONE" });
    expect(drawn).toHaveLength(2);
    expect(drawn[1]).toEqual(drawn[0]);
    expect(new Set(drawn[0]).size).toBe(9);
  });
});
