import * as z from "zod";
import { QUEUE_NAME } from "./settings.ts";

const ref = {
  tenantId: z.string(),
  runId: z.string(),
  attemptId: z.string(),
  idempotencyKey: z.string(),
};

const Question = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("submit"),
    job: z.strictObject({
      ...ref,
      requestText: z.string(),
      callback: z.strictObject({ url: z.string(), token: z.string() }).nullable(),
    }),
  }),
  z.strictObject({ kind: z.enum(["lookUp", "cancel"]), job: z.strictObject(ref) }),
]);

/** A question to a service as it travels to the egress function. What is on its way longer than its time is not put. */
export const EgressEvent = z.strictObject({
  service: z.string().regex(QUEUE_NAME),
  question: Question,
  timeoutMs: z.int().min(1),
  /** When the caller stops to wait, by its clock, in milliseconds: an invocation may begin late, and goes on without its caller. */
  untilMs: z.int(),
});
export type EgressEvent = z.output<typeof EgressEvent>;
