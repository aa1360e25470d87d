import { stepFunctionsService, workflow } from "ghouls";
import * as z from "zod";
import { MACHINE } from "./state-machine.ts";

/** Digs at a state machine; where that is, the environment of its process says. */
export const digger = stepFunctionsService({
  stateMachine: MACHINE,
  request: z.object({ what: z.string() }),
  result: z.object({ found: z.string() }),
  timeout: "5s",
});

export const digs = workflow({
  name: "digs",
  version: 1,
  onWorkerLoss: "resume",
  module: import.meta.url,
  input: z.unknown(),
  run: (ctx) => ctx.delegate("dig", digger, { what: ctx.runId }, { deadline: "1d" }),
});
