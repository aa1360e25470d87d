import { afterEach, describe, expect, test } from "vitest";
import { sha256 } from "@ghouls/core";
import type { WorkflowContext } from "ghouls";
import { buildOf } from "../support/builds.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Redrives after a deploy: which code may take up the work of a run that other code has begun. */

type Code = (ctx: WorkflowContext) => Promise<unknown>;
interface Version {
  readonly version?: number;
  readonly code: Code;
  readonly accepts?: readonly string[];
}
const world = await testWorld({ workflows: [] });
let ran: string[] = [];
afterEach(async () => {
  ran = [];
  expect(await world.broken()).toEqual([]);
  await world.reset();
});

const step = (ctx: WorkflowContext, name: string, fails = false) =>
  ctx.step(
    name,
    () => {
      ran.push(name);
      if (fails) throw new Error("it does not work");
    },
    { tries: 1 },
  );

function build(name: string, digests: Readonly<Record<string, Version>>) {
  const jobs = Object.entries(digests).map(([digest, { code, accepts = [], ...version }]) => ({
    ...version,
    accepts: accepts.map(sha256),
    digest: sha256(digest),
    run: code,
  }));
  const { admission, submit, work } = buildOf(world, name, jobs);
  return {
    fails: async () => {
      const runId = await submit();
      await work();
      return runId;
    },
    redrive: (runId: string) => admission.redrive(SOMEBODY, runId, "mended"),
    work: () => work(),
  };
}

const broken: Code = async (ctx) => {
  await step(ctx, "one");
  await step(ctx, "two", true);
};
const mended: Code = async (ctx) => {
  await step(ctx, "one");
  await step(ctx, "two");
};

describe("a redrive after a deploy", () => {
  test("of code that does not accept the old digest is refused, with what it would have to say", async () => {
    const runId = await build("old", { a: { code: broken } }).fails();
    await expect(build("new", { b: { code: mended } }).redrive(runId)).rejects.toMatchObject({
      code: "not_redrivable",
      issues: [{ path: "/workflow_changed" }],
      fix: expect.stringContaining(`accepts: ["${sha256("a")}"]`),
    });
  });

  test("goes on with code that accepts it, to which it is pinned: a worker of before gives it back", async () => {
    const before = build("old", { a: { code: broken } });
    const runId = await before.fails();
    const now = build("new", { b: { code: mended, accepts: ["a"] } });
    const made = await now.redrive(runId);
    expect(made).toMatchObject({ workflow: { digest: sha256("b") }, kept: 1 });
    ran = [];
    await before.work();
    expect(await world.view(made.runId)).toMatchObject({ status: "QUEUED" });
    await world.advance(60);
    await world.reconcile();
    await now.work();
    expect(await world.view(made.runId)).toMatchObject({ status: "DONE", workflow: { digest: sha256("b") } });
    expect(ran).toEqual(["two"]);
  });

  test("takes the newer of two versions that stand side by side, where that accepts it", async () => {
    const runId = await build("old", { a: { code: broken } }).fails();
    const both = build("new", { a: { code: broken }, b: { version: 2, code: mended, accepts: ["a"] } });
    expect(await both.redrive(runId)).toMatchObject({ workflow: { version: 2, digest: sha256("b") } });
  });

  test("fails by name where the mended code asks for other calls than were kept", async () => {
    const runId = await build("old", { a: { code: broken } }).fails();
    const other: Code = (ctx) => step(ctx, "another");
    const now = build("new", { b: { code: other, accepts: ["a"] } });
    const { runId: again } = await now.redrive(runId);
    await now.work();
    expect(await world.view(again)).toMatchObject({ status: "FAILED", errorCode: "journal_mismatch" });
  });

  test("that was made before the code went away is still told", async () => {
    const old = build("old", { a: { code: broken } });
    const runId = await old.fails();
    const { runId: again } = await old.redrive(runId);
    expect(await build("new", { b: { code: mended } }).redrive(runId)).toMatchObject({
      runId: again,
      created: false,
    });
  });
});
