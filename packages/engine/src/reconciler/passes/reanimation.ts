import type { Codec, FaultInjector, Logger, RunFailure } from "@ghouls/core";
import type { LapsedClaim, Ledger, Position } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { keptFailure, type KeptFailure } from "../kept-failure.ts";
import type { Page } from "../pages.ts";

export interface ReanimationOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Claims of one page. */
  readonly pageSize: number;
  readonly settings: {
    readonly maxLosses: number;
    readonly actsMarginSeconds: number;
    readonly publisherGraceSeconds: number;
  };
}

export interface ReanimationCounts {
  readonly lapsed: number;
  readonly resumed: number;
  readonly failing: number;
  readonly failed: number;
}

/**
 * One page of reanimation: judges claims whose lease has lapsed (design.md §3, Loss). A run that resumes gets its next
 * delivery, which is published at once; one that does not goes to FAILING `ghoul_lost`. Of these runs only, where some are
 * named: a message that reappears is news of its own delivery.
 */
export async function reanimate(
  options: ReanimationOptions,
  where: { readonly after?: Position | undefined; readonly runIds?: readonly string[] } = {},
): Promise<Page<ReanimationCounts>> {
  const { ledger, publisher, faults, log, settings } = options;
  const { found: lapsed, next } = await ledger.deliveries.lapsed(options.pageSize, where);
  if (lapsed.length === 0)
    return { counts: { lapsed: 0, resumed: 0, failing: 0, failed: 0 }, next: undefined };
  await faults("reanimation.after-select", `${lapsed.length} lapsed`);
  const claims = (await Promise.all(lapsed.map((claim) => withFailure(claim, options)))).flat();
  const judged = await ledger.deliveries.settleLost(claims, settings);
  await faults("reanimation.after-judgement", `${judged.length} judged`);
  const resumed = judged.filter((one) => one.status === "QUEUED");
  for (const { runId, status, enqueueSeq } of judged)
    log.warn("a worker was lost", { runId, status, enqueueSeq });
  await Promise.all(resumed.map((one) => publisher.publish(one)));
  const counts = {
    lapsed: lapsed.length,
    resumed: resumed.length,
    failing: judged.filter((one) => one.status === "FAILING").length,
    failed: lapsed.length - claims.length,
  };
  return { counts, next };
}

/** With what is kept of the run's end where it comes to that; nothing where the codec could not write it. */
async function withFailure(
  claim: LapsedClaim,
  options: ReanimationOptions,
): Promise<(LapsedClaim & KeptFailure)[]> {
  const resumes = claim.onWorkerLoss === "resume" && claim.losses + 1 < options.settings.maxLosses;
  if (resumes) return [{ ...claim, errorText: "", errorDigest: "" }];
  const failure: RunFailure = {
    code: "ghoul_lost",
    name: "Lost",
    message:
      claim.onWorkerLoss === "fail"
        ? `the worker of delivery ${claim.seq} was lost, and the workflow does not resume`
        : `the worker of delivery ${claim.seq} was lost, and the run has used up its losses (${claim.losses + 1})`,
  };
  const kept = await keptFailure(claim, failure, options);
  return kept === undefined ? [] : [{ ...claim, ...kept }];
}
