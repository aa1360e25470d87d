import {
  UnserializableError,
  describeFailure,
  serialize,
  sha256,
  type AnyWorkflow,
  type RunFailure,
} from "@ghouls/core";
import type { ClaimedRun, SettleAnswer, Settlement } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import type { HopEnd } from "./hop-end.ts";

/** Turns a hop's end into what is committed, checking the output by the workflow's own schema. */
export async function settlementOf(
  claim: ClaimedRun,
  workflow: AnyWorkflow | undefined,
  end: Extract<HopEnd, { kind: "returned" | "failed" }>,
  deps: Pick<ExecutionDeps, "codec">,
): Promise<Settlement> {
  const { tenantId, runId } = claim;
  const checked = end.kind === "returned" ? await outputOf(workflow, end.output) : end.failure;
  if (isFailure(checked)) {
    const stored = await deps.codec.encode(JSON.stringify(checked), { tenantId, runId, kind: "error" });
    return { status: "FAILED", errorCode: checked.code, errorText: stored, errorDigest: sha256(stored) };
  }
  if (checked.text === undefined) return { status: "DONE", outputText: null, outputDigest: null };
  const stored = await deps.codec.encode(checked.text, { tenantId, runId, kind: "output" });
  return { status: "DONE", outputText: stored, outputDigest: sha256(stored) };
}

function isFailure(value: RunFailure | { readonly text: string | undefined }): value is RunFailure {
  return "code" in value;
}

async function outputOf(
  workflow: AnyWorkflow | undefined,
  output: unknown,
): Promise<RunFailure | { readonly text: string | undefined }> {
  try {
    const parsed = await workflow?.output?.safeParseAsync(output);
    if (parsed !== undefined && !parsed.success) {
      const issues = parsed.error.issues
        .slice(0, 10)
        .map((issue) => `/${issue.path.map(String).join("/")}: ${issue.message}`);
      return {
        code: "output_invalid",
        name: "Refused",
        message: `what the workflow returned does not fit its output schema: ${issues.join("; ").slice(0, 1_500)}`,
      };
    }
    return { text: serialize(parsed === undefined ? output : parsed.data) };
  } catch (error) {
    if (error instanceof UnserializableError) {
      return { code: error.reason, name: "Refused", message: `what the workflow returned: ${error.message}` };
    }
    return {
      code: "output_invalid",
      name: "Refused",
      message: `the output schema threw: ${describeFailure(error).message.slice(0, 500)}`,
    };
  }
}

/** Commits the end. What follows it comes when the hop has given back what it held, and can revise nothing of it. */
export async function settle(
  claim: ClaimedRun,
  settlement: Settlement,
  deps: ExecutionDeps,
): Promise<SettleAnswer> {
  await deps.faults("worker.before-settle", claim.runId);
  const answer = await deps.ledger.deliveries.settleIfClaimed(claim, settlement);
  await deps.faults("worker.after-settle", claim.runId);
  return answer;
}
