import type { Codec, FaultInjector, Logger, RunFailure } from "@ghouls/core";
import type { ExpiredHold, Ledger, Position } from "@ghouls/ledger";
import { keptFailure, type KeptFailure } from "../kept-failure.ts";
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

/** With why its run ends; nothing where the codec could not write that. */
async function withFailure(hold: ExpiredHold, options: HoldsOptions): Promise<(ExpiredHold & KeptFailure)[]> {
  const failure: RunFailure = {
    code: "hold_expired",
    name: "Expired",
    message: `the run was held until ${hold.expiredAt.toISOString()}, and nobody released it`,
  };
  const kept = await keptFailure(hold, failure, options);
  return kept === undefined ? [] : [{ ...hold, ...kept }];
}
