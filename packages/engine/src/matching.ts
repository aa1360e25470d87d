import { ENDING_RUN, isTerminalRun, wire, type Principal } from "@ghouls/core";
import type { Ledger, MatchingRun } from "@ghouls/ledger";

type Judged = wire.CancelledMatching["runs"][number];

/**
 * Cancels a page of the runs that a filter means, newest first, each in a commit of its own: one that fails leaves those
 * before it cancelled, and the same request again finds them so.
 */
export async function cancelMatching(
  options: { readonly ledger: Ledger; readonly settings: { readonly actsMarginSeconds: number } },
  principal: Principal,
  { filter, reason, dryRun = false, limit = wire.MAX_CANCEL, cursor }: wire.CancelMatchingRequest,
): Promise<wire.CancelledMatching> {
  const { ledger, settings } = options;
  const { tenantId, subject: actor } = principal;
  const { admittedAfter, admittedBefore, ...rest } = filter;
  const meant = {
    ...rest,
    ...(admittedAfter === undefined ? {} : { after: new Date(admittedAfter) }),
    ...(admittedBefore === undefined ? {} : { before: new Date(admittedBefore) }),
  };
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const { runs, nextCursor } = await ledger.runs.matching(tenantId, meant, page);
  const judged: Judged[] = [];
  for (const run of runs) {
    if (dryRun || ENDING_RUN.includes(run.status)) {
      judged.push(told(run, run.status, !ENDING_RUN.includes(run.status)));
      continue;
    }
    const key = { tenantId, runId: run.runId };
    const answer = await ledger.runs.cancel(key, { actor, reason }, settings.actsMarginSeconds);
    if (answer !== null) judged.push(told(run, answer.status, answer.cancelled));
  }
  const count = (outcome: Judged["outcome"]) => judged.filter((one) => one.outcome === outcome).length;
  return {
    dryRun,
    cancelled: count("cancelled"),
    ending: count("ending"),
    ended: count("ended"),
    runs: judged,
    nextCursor,
  };
}

function told({ runId, workflow }: MatchingRun, status: MatchingRun["status"], cancelled: boolean): Judged {
  const outcome = cancelled ? "cancelled" : isTerminalRun(status) ? "ended" : "ending";
  return { runId, workflow, outcome, status };
}
