import { describeFailure, idempotencyKeyOf, type CallId, type Logger, type StepContext } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { ResolvedStepOptions } from "./step-options.ts";
import { runStep, type StepEnd } from "./step-run.ts";

/** Why a step may not start now: the run's deadline has passed, or the step does not fit what is left. */
export function whyNotNow(
  name: string,
  timeoutMs: number,
  claim: ClaimedRun,
  deps: Pick<ExecutionDeps, "clock" | "settings">,
  invocation: Invocation,
): HopEnd | undefined {
  // The ledger's time at the claim, moved on by this process's monotonic clock.
  const nowMs = claim.claimedAt.getTime() + deps.clock.monotonicMs() - invocation.claimedAtMs;
  if (claim.deadlineAt !== null && nowMs >= claim.deadlineAt.getTime()) {
    return refusal("deadline", `the run's deadline has passed before step "${name}"`, name);
  }
  const remainingMs = invocation.remainingMs();
  if (timeoutMs <= remainingMs - deps.settings.settleReserveMs) return undefined;
  return refusal(
    "out_of_time",
    `step "${name}" may take ${timeoutMs} ms, but only ${Math.floor(remainingMs)} ms remain of this invocation, and a run cannot move to another one yet`,
    name,
  );
}

export interface LiveStep {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly run: (context: StepContext) => unknown;
  readonly options: ResolvedStepOptions;
  readonly hopSignal: AbortSignal;
  readonly log: Logger;
}

/** Runs a step for real. Never rejects. */
export async function liveStep(step: LiveStep, deps: ExecutionDeps): Promise<StepEnd> {
  const { call, claim, run, options, hopSignal, log } = step;
  try {
    await deps.faults("worker.before-step", call.name);
    const end = await runStep({
      name: call.name,
      options,
      run,
      hopSignal,
      log,
      idempotencyKey: idempotencyKeyOf(claim.firstRunId, call),
      chance: deps.chance,
      overdueAfterMs: deps.settings.overdueAfterMs,
      onOverdue: () => askForAPerson(step, deps),
    });
    await deps.faults("worker.after-step", call.name);
    return end;
  } catch (error) {
    return { outcome: "error", failure: describeFailure(error), tries: 1 };
  }
}

/** A step that does not end holds its hop; its run shows it, and goes on waiting. */
function askForAPerson({ call, claim, log }: LiveStep, deps: ExecutionDeps): void {
  deps.ledger.runs.raiseAttention(claim, `step_overdue: ${call.name}`).catch((error: unknown) => {
    log.warn("attention could not be raised", { step: call.name, error: String(error).slice(0, 200) });
  });
}
