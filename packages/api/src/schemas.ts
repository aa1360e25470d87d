import { wire } from "@ghouls/core";
import { z } from "@hono/zod-openapi";

/**
 * The wire schemas under their names in the OpenAPI document. They are made in `@ghouls/core` before zod learns
 * `.openapi()`, so that each is cloned first.
 */
const named = <S extends z.ZodType>(name: string, schema: S): S => schema.clone().openapi(name) as S;

export const RunRequest = named("RunRequest", wire.RunRequest);
export const BatchRequest = named("BatchRequest", wire.BatchRequest);
export const Admitted = named("Admitted", wire.Admitted);
export const BatchAdmitted = named("BatchAdmitted", wire.BatchAdmitted);
export const Released = named("Released", wire.Released);
export const Redriven = named("Redriven", wire.Redriven);
export const CancelMatchingRequest = named("CancelMatchingRequest", wire.CancelMatchingRequest);
export const CancelledMatching = named("CancelledMatching", wire.CancelledMatching);
export const ReasonRequest = named("ReasonRequest", wire.ReasonRequest);
export const Cancelled = named("Cancelled", wire.Cancelled);
export const Resolved = named("Resolved", wire.Resolved);
export const Cleared = named("Cleared", wire.Cleared);
export const PauseRequest = named("PauseRequest", wire.PauseRequest);
export const ReconcilerState = named("ReconcilerState", wire.ReconcilerState);
export const PassesRequest = named("PassesRequest", wire.PassesRequest);
export const PassesRun = named("PassesRun", wire.PassesRun);
export const PauseSet = named("PauseSet", wire.PauseSet);
export const PauseLifted = named("PauseLifted", wire.PauseLifted);
export const PauseList = named("PauseList", wire.PauseList);
export const FaultPage = named("FaultPage", wire.FaultPage);
export const FaultAcknowledged = named("FaultAcknowledged", wire.FaultAcknowledged);
export const RunPaused = named("RunPaused", wire.RunPaused);
export const RunUnpaused = named("RunUnpaused", wire.RunUnpaused);
export const ConsentView = named("ConsentView", wire.ConsentView);
export const ConsentPage = named("ConsentPage", wire.ConsentPage);
export const DecisionRequest = named("DecisionRequest", wire.DecisionRequest);
export const Decided = named("Decided", wire.Decided);
export const AttemptView = named("AttemptView", wire.AttemptView);
export const AttemptPage = named("AttemptPage", wire.AttemptPage);
export const JobReport = named("JobReport", wire.JobReport);
export const Reported = named("Reported", wire.Reported);
export const AttemptResolution = named("AttemptResolution", wire.AttemptResolution);
export const AttemptResolved = named("AttemptResolved", wire.AttemptResolved);
export const SignalRequest = named("SignalRequest", wire.SignalRequest);
export const Signalled = named("Signalled", wire.Signalled);
export const RunView = named("RunView", wire.RunView);
export const RunPage = named("RunPage", wire.RunPage);
export const RunCounts = named("RunCounts", wire.RunCounts);
export const PinnedList = named("PinnedList", wire.PinnedList);
export const RunEvidence = named("RunEvidence", wire.RunEvidence);
export const EventPage = named("EventPage", wire.EventPage);
export const Timeline = named("Timeline", wire.Timeline);
export const WorkflowList = named("WorkflowList", wire.WorkflowList);
export const Whoami = named("Whoami", wire.Whoami);
export const Problem = named("Problem", wire.Problem);

export const Health = named("Health", z.object({ status: z.literal("ok") }));
export const Readiness = named(
  "Readiness",
  z.object({
    ready: z.boolean(),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  }),
);
