import { errorInLog } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { DUE_AGAIN_MS, type HopEnd } from "./hop-end.ts";
import { ledgerNowMs } from "./live-step.ts";
import type { CodecError } from "./loaded-journal.ts";

/** A codec that fails may work again: the delivery goes back, and no loss is counted. */
export function afterCodec(
  claim: ClaimedRun,
  error: CodecError,
  deps: ExecutionDeps,
  invocation: Invocation,
): Extract<HopEnd, { kind: "given_back" }> {
  deps
    .logFor(claim)
    .error("a codec could not do its work; the delivery goes back", { error: errorInLog(error) });
  const dueAt = new Date(ledgerNowMs(claim, deps, invocation) + DUE_AGAIN_MS);
  return { kind: "given_back", dueAt, why: "a codec could not do its work" };
}
