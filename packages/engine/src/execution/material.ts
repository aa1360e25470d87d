import { describeFailure, type AnyWorkflow } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { loadEffects, type Effects } from "./effects.ts";
import { loadRetries, type Retries } from "./retries.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import { isOfHop, loadJournal, verified, verifyCheckpoint, type LoadedEntry } from "./loaded-journal.ts";

/** What a hop starts from, checked. */
export interface Material {
  readonly input: unknown;
  readonly journal: readonly LoadedEntry[];
  readonly effects: Effects;
  readonly retries: Retries;
  /** What stands open of the waits of earlier hops. */
  readonly arms: readonly OpenArm[];
  /** Entries of the journal that an earlier hop has gone on from; what came since, nobody's code has seen. */
  readonly seen: number;
}

/**
 * Checks and loads what a worker was given beside the code: journal, checkpoint and input.
 * @throws DisagreementError where any of it is missing or disagrees: nothing is started over to fill a gap
 */
export async function loadMaterial(
  claim: ClaimedRun,
  workflow: AnyWorkflow,
  deps: ExecutionDeps,
): Promise<Material | HopEnd> {
  const journal =
    claim.journalLength === claim.journalStart
      ? []
      : await loadJournal(claim, await deps.ledger.journal.read(claim, claim.journalStart), deps.codec);
  let seen = journal.findLastIndex(({ kind }) => isOfHop(kind)) + 1;
  if (claim.checkpointGeneration !== null) {
    const checkpoint = await deps.ledger.checkpoints.read(claim, claim.checkpointGeneration);
    seen = Math.max(seen, verifyCheckpoint(claim, checkpoint, journal));
  }
  const { tenantId, inputStoredFor: runId } = claim;
  const inputText = await verified(claim.inputText, claim.inputDigest, "the input", (stored) =>
    deps.codec.decode(stored, { tenantId, runId, kind: "input" }),
  );
  const input = await inputOf(workflow, inputText);
  if ("problem" in input)
    return refusal("input_invalid", `the input does not fit the workflow's schema: ${input.problem}`);
  const [effects, retries, arms] = await Promise.all([
    loadEffects(claim, deps),
    loadRetries(claim, deps),
    // A hop that was lost may have started children before any checkpoint.
    claim.seq === 1 ? [] : deps.ledger.arms.openOfRun(claim),
  ]);
  return { input: input.value, journal, effects, retries, arms, seen };
}

export function isMaterial(loaded: Material | HopEnd): loaded is Material {
  return "journal" in loaded;
}

/** Why an input does not fit its workflow; undefined where it does. */
export async function inputProblem(workflow: AnyWorkflow, text: string): Promise<string | undefined> {
  const input = await inputOf(workflow, text);
  return "problem" in input ? input.problem : undefined;
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
