import {
  describeFailure,
  sha256,
  type Codec,
  type FaultInjector,
  type Logger,
  type RunFailure,
} from "@ghouls/core";
import type { ExpiredHold, Ledger, Position } from "@ghouls/ledger";
import type { Page } from "../pages.ts";

export interface HoldsOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Holds of one page. */
  readonly pageSize: number;
}

export interface HoldCounts {
  readonly expired: number;
  readonly ended: number;
  readonly failed: number;
}

/**
 * One page of hold expiry: a run that nobody released in time fails as `hold_expired`, and a later release is refused. A
 * release or a cancel that came first leaves nothing to do.
 */
export async function expireHolds(options: HoldsOptions, after?: Position): Promise<Page<HoldCounts>> {
  const { ledger, faults, log } = options;
  const { found: expired, next } = await ledger.deliveries.expiredHolds(options.pageSize, after);
  if (expired.length === 0) return { counts: { expired: 0, ended: 0, failed: 0 }, next: undefined };
  await faults("holds.after-select", `${expired.length} expired`);
  const holds = (await Promise.all(expired.map((hold) => withFailure(hold, options)))).flat();
  const ended = await ledger.deliveries.expireHolds(holds);
  await faults("holds.after-expiry", `${ended.length} ended`);
  for (const { runId, status } of ended) log.info("a held run was not released in time", { runId, status });
  const failed = expired.length - holds.length;
  return { counts: { expired: expired.length, ended: ended.length, failed }, next };
}

/** A codec that fails keeps its own hold back for the next pass, and no other's. */
async function withFailure(
  hold: ExpiredHold,
  { codec, log }: HoldsOptions,
): Promise<(ExpiredHold & { readonly errorText: string; readonly errorDigest: string })[]> {
  const { tenantId, runId, expiredAt } = hold;
  const failure: RunFailure = {
    code: "hold_expired",
    name: "Expired",
    message: `the run was held until ${expiredAt.toISOString()}, and nobody released it`,
  };
  try {
    const errorText = await codec.encode(JSON.stringify(failure), { tenantId, runId, kind: "error" });
    return [{ ...hold, errorText, errorDigest: sha256(errorText) }];
  } catch (error) {
    log.error("the codec could not write why a held run failed; the next pass tries", {
      runId,
      error: describeFailure(error).message.slice(0, 200),
    });
    return [];
  }
}
