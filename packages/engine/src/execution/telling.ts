import { attentionText, type Logger } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps } from "./deps.ts";
import { raiseAttention } from "./live-step.ts";

/** No step runs, and no branch stands in a wait: the code waits for something that nobody journals, perhaps for ever. */
export function tellOfStandstill(claim: ClaimedRun, log: Logger, deps: Pick<ExecutionDeps, "ledger">): void {
  log.warn("the code waits for something that is no step and no wait, perhaps for ever");
  void raiseAttention(
    claim,
    attentionText("code_overdue", "it waits for what is no step and no wait"),
    log,
    deps,
  );
}

/** Steps of code that has returned, and waits for none of their next tries. */
export function tellOfDropped(calls: readonly OpenCall[], log: Logger): void {
  for (const { id } of calls)
    log.warn("a step has further tries that the workflow did not wait for", { step: id.name });
}
