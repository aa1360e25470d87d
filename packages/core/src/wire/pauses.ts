import * as z from "zod";
import { PAUSE_SCOPES } from "../pauses.ts";
import { statesOf } from "../transitions.ts";
import { WORKFLOW_NAME } from "./admission.ts";
import { time } from "./frame.ts";

const reason = z.string().trim().min(1).max(1_000);

/** What is to be paused: all runs of the deployment, those of one workflow in the caller's tenant, or those of that tenant. */
export const PauseRequest = z.discriminatedUnion("scope", [
  z.strictObject({ scope: z.literal("all"), reason }),
  z.strictObject({ scope: z.literal("workflow"), workflow: z.string().regex(WORKFLOW_NAME), reason }),
  z.strictObject({ scope: z.literal("tenant"), reason }),
]);
export type PauseRequest = z.infer<typeof PauseRequest>;

/** A pause that is set. */
export const PauseView = z.object({
  pauseId: z.string(),
  scope: z.enum(PAUSE_SCOPES),
  /** Null: in every tenant. */
  tenantId: z.string().nullable(),
  /** Null: every workflow. */
  workflow: z.string().nullable(),
  by: z.string(),
  reason: z.string(),
  at: time,
});
export type PauseView = z.infer<typeof PauseView>;

export const PauseList = z.object({ pauses: z.array(PauseView) });
export type PauseList = z.infer<typeof PauseList>;

export const PauseSet = z.object({
  /** False where it was set before: then who did so and why stays as it was. */
  created: z.boolean(),
  pause: PauseView,
});
export type PauseSet = z.infer<typeof PauseSet>;

export const PauseLifted = z.object({
  /** False where it had been lifted before. */
  lifted: z.boolean(),
  pause: PauseView,
});
export type PauseLifted = z.infer<typeof PauseLifted>;

/** What holds a run: its own pause, or one of its workflow, its tenant or of all. */
export const HeldBy = z.object({
  scope: z.enum(["run", ...PAUSE_SCOPES]),
  /** Null for the run's own. */
  pauseId: z.string().nullable(),
  by: z.string(),
  reason: z.string(),
  at: time,
});
export type HeldBy = z.infer<typeof HeldBy>;

export const RunPaused = z.object({
  runId: z.string(),
  /** False where the run was paused before, or is ending or has ended: `status` and `pauses` say which. */
  paused: z.boolean(),
  status: z.enum(statesOf("run")),
  pauses: z.array(HeldBy),
});
export type RunPaused = z.infer<typeof RunPaused>;

export const RunUnpaused = z.object({
  runId: z.string(),
  /** False where the run itself was not paused. */
  unpaused: z.boolean(),
  status: z.enum(statesOf("run")),
  /** What holds it still. */
  pauses: z.array(HeldBy),
});
export type RunUnpaused = z.infer<typeof RunUnpaused>;
