import type { Position } from "@ghouls/ledger";
import type { Owner, Pass } from "./pass.ts";
import { endingsPass, type EndingsOptions } from "./passes/endings.ts";
import { retentionPass, type RetentionOptions } from "./passes/retention.ts";
import { sealsPass, type SealsOptions } from "./passes/seals.ts";
import { tellParents, type ChildrenCounts, type ChildrenOptions } from "./passes/children.ts";
import { contain, type ContainmentCounts, type ContainmentOptions } from "./passes/containment.ts";
import { lookUpConsents, type ConsentCounts, type ConsentsPassOptions } from "./passes/consents.ts";
import { lookAfterJobs, type DelegateCounts, type DelegatesOptions } from "./passes/delegates.ts";
import { endOverdue, type DeadlineCounts, type DeadlinesOptions } from "./passes/deadlines.ts";
import { expireHolds, type HoldCounts, type HoldsOptions } from "./passes/holds.ts";
import { reanimate, type ReanimationCounts, type ReanimationOptions } from "./passes/reanimation.ts";
import { relay, type RelayCounts, type RelayOptions } from "./passes/relay.ts";
import { wakeDue, type TimerCounts, type TimersOptions } from "./passes/timers.ts";
import { pass, type PassReport } from "./pages.ts";

export interface ReconcileOptions
  extends
    RelayOptions,
    Omit<ReanimationOptions, "ledger">,
    Omit<HoldsOptions, "ledger">,
    Omit<DeadlinesOptions, "ledger" | "settings">,
    Omit<TimersOptions, "ledger" | "settings">,
    Omit<ConsentsPassOptions, "ledger" | "settings">,
    Omit<DelegatesOptions, "ledger" | "settings">,
    Omit<ChildrenOptions, "ledger" | "settings">,
    Omit<ContainmentOptions, "ledger" | "settings">,
    Omit<EndingsOptions, "ledger">,
    Omit<SealsOptions, "ledger">,
    Omit<RetentionOptions, "ledger"> {
  readonly ledger: RelayOptions["ledger"] &
    ReanimationOptions["ledger"] &
    ContainmentOptions["ledger"] &
    TimersOptions["ledger"] &
    DelegatesOptions["ledger"] &
    ChildrenOptions["ledger"] &
    ConsentsPassOptions["ledger"] &
    EndingsOptions["ledger"] &
    SealsOptions["ledger"] &
    RetentionOptions["ledger"];
  readonly settings: ReanimationOptions["settings"] &
    ContainmentOptions["settings"] &
    DelegatesOptions["settings"] &
    ConsentsPassOptions["settings"];
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
  /** What a page may take at most, in milliseconds: no page starts with less left. */
  readonly pageBudgetMs: number;
}

export interface ReconcileReport {
  readonly reanimation: PassReport<ReanimationCounts>;
  readonly holds: PassReport<HoldCounts>;
  readonly deadlines: PassReport<DeadlineCounts>;
  readonly timers: PassReport<TimerCounts>;
  readonly consents: PassReport<ConsentCounts>;
  readonly delegates: PassReport<DelegateCounts>;
  readonly containment: PassReport<ContainmentCounts>;
  readonly children: PassReport<ChildrenCounts>;
  readonly endings: PassReport<OwnerCounts>;
  readonly seals: PassReport<OwnerCounts>;
  readonly retention: PassReport<OwnerCounts>;
  readonly relay: PassReport<RelayCounts>;
}

/** What is written of an answer that came at the last moment, in milliseconds. */
const ASKING_RESERVE_MS = 2_000;

/**
 * Runs every pass that exists, page by page, and ends inside its invocation. Several at once are harmless: every repair is
 * guarded, and publications are repeatable. What one pass creates the next ones find: lost workers first, the relay last.
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  // Pages whose owners ask somebody else may take as long as one of these may.
  const pageBudgetMs = Math.max(options.pageBudgetMs, options.settings.ownerDeadlineMs + ASKING_RESERVE_MS);
  const asking = { ...options, pageBudgetMs };
  return {
    reanimation: await pass(
      "reanimation",
      options,
      { lapsed: 0, resumed: 0, failing: 0, failed: 0 },
      (after?: Position) => reanimate(options, { after }),
    ),
    holds: await pass("holds", options, { expired: 0, ended: 0, failed: 0 }, (after?: Position) =>
      expireHolds(options, after),
    ),
    deadlines: await pass("deadlines", options, { overdue: 0, ended: 0, failed: 0 }, (after?: Position) =>
      endOverdue(options, after),
    ),
    timers: await pass("timers", options, { due: 0, resumed: 0, failed: 0 }, (after?: Position) =>
      wakeDue(options, after),
    ),
    consents: await pass("consents", asking, { due: 0, decided: 0, failed: 0 }, (after?: Position) =>
      lookUpConsents(options, after),
    ),
    delegates: await pass(
      "delegates",
      asking,
      { due: 0, submitted: 0, ended: 0, failed: 0 },
      (after?: Position) => lookAfterJobs(options, after),
    ),
    containment: await pass("containment", options, { due: 0, ended: 0, failed: 0 }, (after?: Position) =>
      contain(options, after),
    ),
    // What the containment has ended is told in the same round.
    children: await pass(
      "children",
      options,
      { due: 0, resumed: 0, ended: 0, failed: 0 },
      (after?: Position) => tellParents(options, after),
    ),
    endings: await ownersOf(endingsPass(options), options),
    seals: await ownersOf(sealsPass(options), options),
    retention: await ownersOf(retentionPass(options), options),
    relay: await pass("relay", options, { due: 0, published: 0, failed: 0 }, async () => {
      const counts = await relay(options);
      // What was published or has failed goes to a later time. A page that moved nothing would come again at once.
      return { counts, next: counts.published > 0 && counts.due >= options.pageSize ? true : undefined };
    }),
  };
}

interface OwnerCounts {
  readonly due: number;
  readonly repaired: number;
  readonly failed: number;
}

/** The pages of a pass whose owners have turns of their own. */
function ownersOf<Due extends Owner>(
  one: Pass<Due>,
  { pageSize: limit, settings, log, ...rest }: ReconcileOptions,
): Promise<PassReport<OwnerCounts>> {
  const turn = { signal: new AbortController().signal, withinMs: () => settings.ownerDeadlineMs };
  const zero = { due: 0, repaired: 0, failed: 0 };
  return pass(one.name, { log, ...rest }, zero, async (after?: Position) => {
    const { found, next } = await one.find({ limit, after });
    let [repaired, failed] = [0, 0];
    for (const due of found) {
      try {
        const [outcome] = await one.repair([due], turn);
        if (outcome?.kind === "repaired") repaired += 1;
      } catch (error) {
        failed += 1;
        log.warn("an owner could not be looked after", {
          pass: one.name,
          owner: due.owner,
          error: String(error).slice(0, 200),
        });
      }
    }
    return { counts: { due: found.length, repaired, failed }, next };
  });
}
