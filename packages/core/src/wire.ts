import * as z from "zod";

/** The shapes that travel over HTTP, shared by the API, the client and the command. Times are ISO 8601 in UTC. */
export { MAX_BATCH, MAX_BODY_BYTES, MAX_PAGE } from "./wire/frame.ts";
export * from "./wire/admission.ts";
export * from "./wire/attempts.ts";
export * from "./wire/control.ts";
export * from "./wire/events.ts";
export * from "./wire/evidence.ts";
export * from "./wire/integrity.ts";
export * from "./wire/pauses.ts";
export * from "./wire/reconciler.ts";
export * from "./wire/runs.ts";
export * from "./wire/waits.ts";
export * from "./wire/whoami.ts";

/** RFC 9457. `type` is `urn:ghouls:problem:<code>` and stable. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  /** What to do about it. */
  fix: z.string(),
  requestId: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof Problem>;
