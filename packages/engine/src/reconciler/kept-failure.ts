import { sha256, type Codec, type Logger, type RunFailure, errorInLog } from "@ghouls/core";
import { answerWithin } from "../patience.ts";

/** Why a run ends, as the ledger keeps it. */
export interface KeptFailure {
  readonly errorText: string;
  readonly errorDigest: string;
}

/**
 * Passes a failure through the codec. Undefined where that fails: then the owner is kept back for the next pass, and no
 * other is. Undefined too where it takes longer than `withinMs`: others of its batch have their turn with it.
 */
export async function keptFailure(
  { tenantId, runId }: { readonly tenantId: string; readonly runId: string },
  failure: RunFailure,
  { codec, log }: { readonly codec: Codec; readonly log: Logger },
  withinMs?: number,
): Promise<KeptFailure | undefined> {
  try {
    const encoding = codec.encode(JSON.stringify(failure), { tenantId, runId, kind: "error" });
    const errorText = await (withinMs === undefined ? encoding : answerWithin(encoding, withinMs));
    return { errorText, errorDigest: sha256(errorText) };
  } catch (error) {
    log.error("the codec could not write why a run ends; the next pass tries", {
      runId,
      code: failure.code,
      error: errorInLog(error),
    });
    return undefined;
  }
}

/** Of a batch's turn, what its codec may take: the rest is for what is written. */
export const encodingMs = ({ withinMs }: { readonly withinMs: () => number }): number =>
  Math.max(0, withinMs() / 2);
