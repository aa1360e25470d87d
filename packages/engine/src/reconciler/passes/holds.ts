import type { Codec, FaultInjector, Logger, RunFailure } from "@ghouls/core";
import type { ExpiredHold, Ledger } from "@ghouls/ledger";
import { encodingMs, keptFailure } from "../kept-failure.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass, type Turn } from "../pass.ts";

export interface HoldsOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly codec: Codec;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly pageSize: number;
}

type Due = ExpiredHold & Owner;

/**
 * Hold expiry: a run that nobody released in time fails as `hold_expired`, and a later release is refused. A release or a cancel
 * that came first leaves nothing to do.
 */
export function holdsPass(options: HoldsOptions): Pass<Due> {
  const { ledger, pageSize } = options;
  const pass: Pass<Due> = {
    name: "holds",
    asks: false,
    batch: pageSize,
    find: async (look) => ownedBy(await ledger.deliveries.expiredHolds(look), ({ runId }) => runId),
    describe: ({ expiredAt }) => ({
      rule: "its hold has expired: end it",
      before: `QUEUED, held until ${expiredAt.toISOString()}`,
    }),
    repair: expire,
  };

  async function expire(due: readonly Due[], turn: Turn): Promise<Outcome[]> {
    const { faults, log } = options;
    const withinMs = encodingMs(turn);
    const kept = await Promise.all(due.map((hold) => keptFailure(hold, failureOf(hold), options, withinMs)));
    const holds = due.flatMap((hold, index) => {
      const failure = kept[index];
      return failure === undefined ? [] : [{ ...hold, ...failure, repair: noteOf(pass, hold) }];
    });
    const ended = await ledger.deliveries.expireHolds(holds);
    await faults("holds.after-expiry", `${ended.length} ended`);
    for (const { runId, status } of ended) log.info("a held run was not released in time", { runId, status });
    const done = new Set(ended.map(({ runId }) => runId));
    return due.map(({ runId }, index) => {
      if (kept[index] === undefined)
        return { kind: "failed", reason: "the codec could not write why it ends" };
      return done.has(runId) ? REPAIRED : LEFT;
    });
  }
  return pass;
}

function failureOf({ expiredAt }: ExpiredHold): RunFailure {
  return {
    code: "hold_expired",
    name: "Expired",
    message: `the run was held until ${expiredAt.toISOString()}, and nobody released it`,
  };
}
