import { sha256, type Codec, type Logger, type RunFailure, errorInLog } from "@ghouls/core";

/** Why a run ends, as the ledger keeps it. */
export interface KeptFailure {
  readonly errorText: string;
  readonly errorDigest: string;
}

/**
 * Passes a failure through the codec. Undefined where that fails: then the owner is kept back for the next pass, and no
 * other is.
 */
export async function keptFailure(
  { tenantId, runId }: { readonly tenantId: string; readonly runId: string },
  failure: RunFailure,
  { codec, log }: { readonly codec: Codec; readonly log: Logger },
): Promise<KeptFailure | undefined> {
  try {
    const errorText = await codec.encode(JSON.stringify(failure), { tenantId, runId, kind: "error" });
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
