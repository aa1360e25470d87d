import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";

/** Both engines carry these; their digests are the same, as in two builds of one project. */

const trace: string[] = [];
async function twoSteps(ctx: WorkflowContext): Promise<string> {
  for (const name of ["one", "two"]) {
    await ctx.step(name, () => {
      trace.push(`${ctx.runId} ${name}`);
      return name;
    });
  }
  return "end";
}
const define = (name: string, onWorkerLoss: "resume" | "fail", run = twoSteps) =>
  workflow({ name, version: 1, onWorkerLoss, input: z.unknown(), run });
export const workflows = [
  define("resumes", "resume"),
  define("ends", "fail"),
  define("fails", "fail", () => Promise.reject(new Error("by a test"))),
];

/** The calls of a run's steps, by whichever engine. */
export function stepsOf(runId: string): string[] {
  return trace.filter((line) => line.startsWith(runId)).map((line) => line.slice(runId.length + 1));
}
