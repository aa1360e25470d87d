import { INVALID_SPAN_CONTEXT, ROOT_CONTEXT, context, trace, type Span } from "@opentelemetry/api";
import { afterAll, beforeEach, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { testWorld } from "../support/world.ts";

/** An application's SDK, or a sampler or processor of its own, may throw wherever it is called. */
let throwsAt = "";
const or = <T>(at: string, value: T): T => {
  if (at === throwsAt) throw new Error("by the application's SDK");
  return value;
};
const span: Span = {
  spanContext: () => or("spanContext", INVALID_SPAN_CONTEXT),
  setAttribute: () => or("setAttribute", span),
  setAttributes: () => span,
  addEvent: () => span,
  addLink: () => span,
  addLinks: () => span,
  setStatus: () => or("setStatus", span),
  updateName: () => span,
  end: () => or("end", undefined),
  isRecording: () => true,
  recordException: () => undefined,
};
const tracer = {
  startSpan: () => or("startSpan", { ...span, spanContext: () => or("spanContext", CONTEXT) }),
  startActiveSpan: () => {
    throw new Error("nobody calls it");
  },
};
const CONTEXT = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
trace.setGlobalTracerProvider({ getTracer: () => or("getTracer", tracer) });
context.setGlobalContextManager({
  active: () => or("active", ROOT_CONTEXT),
  with: (_context, run, self, ...values) => or("with", Reflect.apply(run, self, values)),
  bind: (_context, target) => target,
  enable() {
    return this;
  },
  disable() {
    return this;
  },
});
afterAll(() => {
  trace.disable();
  context.disable();
});

const calls: string[] = [];
const world = await testWorld({
  workflows: [
    workflow({
      name: "steps",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: async (ctx) => {
        await ctx.step("once", () => calls.push("once"), { effect: "once" });
        return ctx.step("fails", () => {
          calls.push("fails");
          throw new RangeError("by the step");
        });
      },
    }),
  ],
});
beforeEach(async () => {
  throwsAt = "";
  await world.reset();
  calls.length = 0;
});

test.each([
  "",
  "getTracer",
  "startSpan",
  "active",
  "with",
  "spanContext",
  "setAttribute",
  "setStatus",
  "end",
])("an SDK that throws at %j changes nothing of a run", async (at) => {
  const { runId } = await world.submit("steps");
  throwsAt = at;
  const [outcome] = await world.deliver([`run:${runId}:1`]);
  expect(outcome).toMatchObject({ done: true });
  expect(await world.view(runId)).toMatchObject({ status: "FAILED", error: { name: "StepFailedError" } });
  expect(calls).toEqual(["once", "fails"]);
});
