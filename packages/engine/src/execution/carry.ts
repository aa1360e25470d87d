import { describeFailure, type AnyWorkflow } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { Hop } from "./hop.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { DisagreementError, loadJournal, verified } from "./loaded-journal.ts";
import { settle, settlementOf } from "./settle.ts";

/** What became of a claimed delivery. */
export type Carried =
  | { readonly kind: "settled"; readonly status: "DONE" | "FAILED" }
  | { readonly kind: "quarantined"; readonly reason: string }
  | { readonly kind: "fenced" }
  | { readonly kind: "unknown"; readonly error: unknown };

/** Carries a claimed run from its claim to its settlement. Never rejects. */
export async function carry(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<Carried> {
  try {
    await deps.faults("worker.after-claim", claim.runId);
    const end = await hopOf(claim, deps, invocation);
    if (end.kind === "fenced") return end;
    if (end.kind === "unknown") return end;
    const workflow = deps.registry.find(claim.workflow)?.definition;
    const settlement = await settlementOf(claim, workflow, end, deps);
    const answer = await settle(claim, settlement, deps);
    return answer.settled ? { kind: "settled", status: settlement.status } : { kind: "fenced" };
  } catch (error) {
    if (error instanceof DisagreementError) return quarantine(claim, error.message, deps);
    return { kind: "unknown", error };
  }
}

async function hopOf(claim: ClaimedRun, deps: ExecutionDeps, invocation: Invocation): Promise<HopEnd> {
  const { name, version, digest } = claim.workflow;
  const registered = deps.registry.find(claim.workflow);
  if (registered?.digest !== digest) {
    const here =
      registered === undefined
        ? "this worker has none of that name and version"
        : `this worker has ${registered.digest}`;
    return refusal(
      "workflow_changed",
      `the run is pinned to workflow "${name}" version ${version} with digest ${digest}; ${here}`,
    );
  }
  if (claim.deadlineAt !== null && claim.claimedAt >= claim.deadlineAt) {
    return refusal(
      "deadline",
      `the run's deadline ${claim.deadlineAt.toISOString()} had passed when a worker claimed it`,
    );
  }
  const journal =
    claim.journalLength === 0
      ? []
      : await loadJournal(claim, await deps.ledger.journal.read(claim), deps.codec);
  const { tenantId, runId } = claim;
  const inputText = await verified(claim.inputText, claim.inputDigest, "the input", (stored) =>
    deps.codec.decode(stored, { tenantId, runId, kind: "input" }),
  );
  const input = await inputOf(registered.definition, inputText);
  if ("problem" in input)
    return refusal("input_invalid", `the input does not fit the workflow's schema: ${input.problem}`);
  return new Hop(claim, registered.definition, journal, deps, invocation).run(input.value);
}

/** The input as the workflow's schema gives it; the schema is user code and may throw. */
async function inputOf(
  workflow: AnyWorkflow,
  text: string,
): Promise<{ value: unknown } | { problem: string }> {
  try {
    const parsed = await workflow.input.safeParseAsync(JSON.parse(text));
    return parsed.success ? { value: parsed.data } : { problem: parsed.error.message.slice(0, 1_500) };
  } catch (error) {
    return { problem: describeFailure(error).message };
  }
}

async function quarantine(claim: ClaimedRun, reason: string, deps: ExecutionDeps): Promise<Carried> {
  try {
    const done = await deps.ledger.runs.quarantineIfClaimed(claim, reason);
    return done ? { kind: "quarantined", reason } : { kind: "fenced" };
  } catch (error) {
    return { kind: "unknown", error };
  }
}
