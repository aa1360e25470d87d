import {
  describeFailure,
  sha256,
  type Codec,
  type FaultInjector,
  type Logger,
  type RunFailure,
} from "@ghouls/core";
import type { LapsedClaim, Ledger, Position } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
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

type Judgeable = LapsedClaim & { readonly errorText: string; readonly errorDigest: string };

/**
 * What is kept of the run's end where it comes to that. A codec that fails keeps its own claim back for the next pass, and
 * no other's.
 */
async function withFailure(
  claim: LapsedClaim,
  { codec, log, settings }: ReanimationOptions,
): Promise<Judgeable[]> {
  const resumes = claim.onWorkerLoss === "resume" && claim.losses + 1 < settings.maxLosses;
  if (resumes) return [{ ...claim, errorText: "", errorDigest: "" }];
  const failure: RunFailure = {
    code: "ghoul_lost",
    name: "Lost",
    message:
      claim.onWorkerLoss === "fail"
        ? `the worker of delivery ${claim.seq} was lost, and the workflow does not resume`
        : `the worker of delivery ${claim.seq} was lost, and the run has used up its losses (${claim.losses + 1})`,
  };
  const { tenantId, runId } = claim;
  try {
    const errorText = await codec.encode(JSON.stringify(failure), { tenantId, runId, kind: "error" });
    return [{ ...claim, errorText, errorDigest: sha256(errorText) }];
  } catch (error) {
    log.error("the codec could not write why a run was lost; the next pass tries", {
      runId,
      error: describeFailure(error).message.slice(0, 200),
    });
    return [];
  }
}
