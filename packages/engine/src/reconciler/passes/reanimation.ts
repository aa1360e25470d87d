import type { Codec, FaultInjector, Logger, Metrics, RunFailure } from "@ghouls/core";
import type { JudgedLoss, LapsedClaim, Ledger, RepairNote } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { encodingMs, keptFailure, type KeptFailure } from "../kept-failure.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface ReanimationOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly settings: {
    readonly maxLosses: number;
    readonly actsMarginSeconds: number;
    readonly publisherGraceSeconds: number;
  };
}

type Due = LapsedClaim & Owner;
type Judgeable = LapsedClaim & { readonly repair?: RepairNote };

/**
 * Reanimation: judges claims whose lease has lapsed (design.md §3, Loss). A run that resumes gets its next delivery, which is
 * published at once; one that does not goes to FAILING `ghoul_lost`.
 */
export function reanimationPass(options: ReanimationOptions & { readonly pageSize: number }): Pass<Due> {
  const { ledger, pageSize } = options;
  const pass: Pass<Due> = {
    name: "reanimation",
    asks: false,
    batch: pageSize,
    find: async (look) => ownedBy(await ledger.deliveries.lapsed(look), ({ runId }) => runId),
    describe: ({ runStatus, seq, worker, losses }) => ({
      rule: "the lease of its claim has lapsed: judge the loss",
      before: `${runStatus}, delivery ${seq} claimed by ${worker}, losses ${losses}`,
    }),
    repair: async (due, turn) => {
      const claims = due.map((claim) => ({ ...claim, repair: noteOf(pass, claim) }));
      const { judged, unwritten } = await judge(claims, options, encodingMs(turn));
      const done = new Set(judged.map(({ runId }) => runId));
      return due.map(({ runId }): Outcome => {
        if (unwritten.has(runId)) return { kind: "failed", reason: "the codec could not write why it ends" };
        return done.has(runId) ? REPAIRED : LEFT;
      });
    },
  };
  return pass;
}

/** The same by a worker, of the runs that its messages name: a message that reappears is news of its own delivery. */
export async function reanimate(runIds: readonly string[], options: ReanimationOptions): Promise<void> {
  const owners = [...new Set(runIds)];
  const { found } = await options.ledger.deliveries.lapsed({ limit: owners.length, owners });
  if (found.length === 0) return;
  await options.faults("reanimation.after-select", `${found.length} lapsed`);
  await judge(found, options);
}

async function judge(
  lapsed: readonly Judgeable[],
  options: ReanimationOptions,
  withinMs?: number,
): Promise<{ readonly judged: readonly JudgedLoss[]; readonly unwritten: ReadonlySet<string> }> {
  const { ledger, publisher, faults, metrics, log, settings } = options;
  const failures = await Promise.all(lapsed.map((claim) => failureOf(claim, options, withinMs)));
  const claims = lapsed.flatMap((claim, index) => {
    const kept = failures[index];
    return kept === undefined ? [] : [{ ...claim, ...kept }];
  });
  const judged = await ledger.deliveries.settleLost(claims, settings);
  await faults("reanimation.after-judgement", `${judged.length} judged`);
  if (judged.length > 0) metrics.record("WorkersLost", judged.length);
  for (const { runId, status, enqueueSeq } of judged)
    log.warn("a worker was lost", { runId, status, enqueueSeq });
  const resumed = judged.filter((one) => one.status === "QUEUED");
  await Promise.all(resumed.map((one) => publisher.publish(one)));
  const unwritten = lapsed.filter((_, index) => failures[index] === undefined);
  return { judged, unwritten: new Set(unwritten.map(({ runId }) => runId)) };
}

/** What is kept of the run's end where it comes to that; undefined where the codec could not write it. */
async function failureOf(
  claim: LapsedClaim,
  options: ReanimationOptions,
  withinMs?: number,
): Promise<KeptFailure | undefined> {
  const resumes = claim.onWorkerLoss === "resume" && claim.losses + 1 < options.settings.maxLosses;
  if (resumes) return { errorText: "", errorDigest: "" };
  const failure: RunFailure = {
    code: "ghoul_lost",
    name: "Lost",
    message:
      claim.onWorkerLoss === "fail"
        ? `the worker of delivery ${claim.seq} was lost, and the workflow does not resume`
        : `the worker of delivery ${claim.seq} was lost, and the run has used up its losses (${claim.losses + 1})`,
  };
  return keptFailure(claim, failure, options, withinMs);
}
