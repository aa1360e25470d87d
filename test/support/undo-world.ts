import { afterEach, beforeEach, expect } from "vitest";
import * as z from "zod";
import { workflow, type StepOptions, type UndoContext, type WorkflowContext } from "ghouls";
import type { FaultPoint } from "@ghouls/core";
import { testWorld } from "./world.ts";

export type Code = (ctx: WorkflowContext) => Promise<unknown>;

/** Runs whose steps can be undone. After each test the ledger is whole. */
export async function undoWorld() {
  /** What the code under test is, and what happens at fault points: each test sets its own. */
  const under = {
    body: (() => Promise.resolve()) as Code,
    passing: undefined as ((point: FaultPoint, detail: string) => unknown) | undefined,
    /** What was done and undone, in order. */
    trace: [] as string[],
  };
  const child = workflow({
    name: "child",
    version: 1,
    onWorkerLoss: "resume",
    input: z.unknown(),
    run: (ctx) => ctx.waitForSignal("never"),
  });
  const base = { version: 1, input: z.unknown(), run: (ctx: WorkflowContext) => under.body(ctx) } as const;
  const world = await testWorld({
    workflows: [
      workflow({ ...base, name: "resumes", onWorkerLoss: "resume" }),
      workflow({ ...base, name: "fails", onWorkerLoss: "fail" }),
      child,
    ],
    faults: (point, detail) => under.passing?.(point, detail) as undefined,
  });
  beforeEach(() => {
    under.trace = [];
    under.passing = undefined;
  });
  afterEach(async () => {
    expect(await world.broken()).toEqual([]);
    await world.reset();
  });

  /** A step that can be undone, and tells what its undo was told. */
  function step(ctx: WorkflowContext, name: string, options: StepOptions<string> = {}) {
    return ctx.step(
      name,
      () => {
        under.trace.push(name);
        return `${name} is done`;
      },
      {
        undo: ({ outcome, result }: UndoContext<string>) => {
          under.trace.push(`undo ${name}: ${result ?? outcome}`);
        },
        ...options,
      },
    );
  }
  const started = async (code: Code, name = "resumes") => {
    under.body = code;
    return (await world.submit(name)).runId;
  };
  const carried = async (code: Code, name?: string) => {
    const runId = await started(code, name);
    await world.drain();
    return runId;
  };
  const statusOf = async (runId: string) => (await world.view(runId)).status;
  const undosOf = async (runId: string) =>
    (await world.view(runId)).containment.filter(({ kind }) => kind === "undo");
  return { under, world, child, step, started, carried, statusOf, undosOf };
}
