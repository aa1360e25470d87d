import type { AnyWorkflow } from "@ghouls/core";
import { Registry, createAdmission, createAnnouncement, type ExecutionDeps } from "@ghouls/engine";
import { workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import { SOMEBODY, requestOf, type World } from "./world.ts";

/** A version of the workflow "job" in a build. */
interface Job {
  readonly digest: string;
  readonly version?: number;
  readonly input?: z.ZodType;
  /** Digests. */
  readonly accepts?: readonly string[];
  readonly run: (ctx: WorkflowContext) => Promise<unknown>;
}

/** One build of a project, with the admission and the workers that came with it. */
export function buildOf(world: World, name: string, jobs: readonly Job[]) {
  const registry = new Registry(
    jobs.map(({ digest, version = 1, input = z.unknown(), accepts = [], run }) => ({
      digest,
      definition: workflow({
        name: "job",
        version,
        onWorkerLoss: "resume",
        input,
        accepts,
        run,
      }) as AnyWorkflow,
    })),
  );
  const announce = createAnnouncement({ ledger: world.ledger, registry, capacities: {}, build: name });
  const parts = { ...world.deps, registry, queue: world.queue, announce, route: undefined, queues: ["runs"] };
  const admission = createAdmission(parts);
  return {
    admission,
    announce,
    submit: async () => (await admission.admit(SOMEBODY, requestOf({ workflow: "job", input: {} }))).runId,
    /** Its workers take whatever the queue has. */
    work: (deps: Partial<ExecutionDeps> = {}) => world.drain({ deps: { registry, ...deps } }),
    deliver: (runId: string, seq: number, deps: Partial<ExecutionDeps> = {}) =>
      world.deliver([`run:${runId}:${seq}`], { registry, ...deps }),
  };
}
