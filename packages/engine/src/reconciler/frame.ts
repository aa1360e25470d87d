import {
  type Clock,
  type FaultInjector,
  type Ids,
  type Logger,
  type PassName,
  errorInLog,
} from "@ghouls/core";
import type { Ledger, StandingPass } from "@ghouls/ledger";
import { answerWithin, endsWithin } from "../patience.ts";
import type { Pass } from "./pass.ts";
import { PassRun, type PassReport } from "./pass-run.ts";

export interface FrameOptions {
  readonly ledger: Pick<Ledger, "reconciler">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Who reconciles. */
  readonly worker: string;
  /** Owners of one page. */
  readonly pageSize: number;
  /** What a page may take beside its owners' deadline, in milliseconds: reading it, and writing what came of it. */
  readonly pageBudgetMs: number;
  /** What remains of the invocation, in milliseconds. */
  readonly remainingMs: () => number;
  readonly settings: {
    readonly ownerDeadlineMs: number;
    /** Owners that have their turns at once, in a pass that asks somebody and in one that asks the ledger alone. */
    readonly asksAtOnce: number;
    readonly ownersAtOnce: number;
  };
}

/** A pass that asks somebody takes more of what remains than one that does not. */
const WEIGHTS = { asks: 3, other: 1 } as const;

/**
 * Runs passes one after another, and ends inside its invocation (design.md §3, Reconcile). Each has a share of what remains; what
 * one leaves goes to those after it. A turn that hangs outlives the share of its pass, not the invocation: what is kept back for
 * that is one owner's deadline, so that every pass comes to its turn.
 */
export async function runPasses(
  passes: readonly Pass[],
  options: FrameOptions,
): Promise<ReadonlyMap<PassName, PassReport>> {
  const { clock, remainingMs, pageBudgetMs, settings } = options;
  // Of an invocation that is shorter than that, half.
  const deadlineMs = Math.min(settings.ownerDeadlineMs, Math.max(0, (remainingMs() - pageBudgetMs) / 2));
  const keptMs = deadlineMs + pageBudgetMs;
  // A ledger that does not answer keeps no invocation beyond its end.
  const leftMs = () => Math.max(0, remainingMs() - pageBudgetMs / 4);
  const standing = await standingOf(passes, deadlineMs, options);
  const runs: { readonly name: PassName; readonly run: PassRun }[] = [];
  for (const [index, pass] of passes.entries()) {
    const beganMs = remainingMs();
    const share = (beganMs - keptMs) * shareOf(passes.slice(index));
    const run = new PassRun(pass, {
      ...options,
      atOnce: pass.asks ? settings.asksAtOnce : settings.ownersAtOnce,
      deadlineMs: () => Math.max(0, Math.min(deadlineMs, remainingMs() - pageBudgetMs / 2)),
      standing: standing.get(pass.name),
    });
    if (share > 0) await run.go(() => share - (beganMs - remainingMs()));
    runs.push({ name: pass.name, run });
  }
  const ends = Promise.all(runs.map(({ run }) => run.end()));
  if (!(await endsWithin(ends, leftMs())))
    options.log.warn("what came of some owners could not be written in time; they are looked at again");
  const degraded = await noted(
    runs.map(({ run }) => run.note(clock.monotonicMs())),
    leftMs(),
    options,
  );
  return new Map(runs.map(({ name, run }) => [name, run.report(degraded.get(name) ?? 0)]));
}

/** What the first of them has of the time that all of them share. */
function shareOf(passes: readonly Pass[]): number {
  const weightOf = ({ asks }: Pass) => (asks ? WEIGHTS.asks : WEIGHTS.other);
  const [first] = passes;
  return first === undefined ? 0 : weightOf(first) / passes.reduce((sum, pass) => sum + weightOf(pass), 0);
}

/** Rows that cannot be read cost a look from the start. */
async function standingOf(
  passes: readonly Pass[],
  withinMs: number,
  { ledger, log }: Pick<FrameOptions, "ledger" | "log">,
): Promise<ReadonlyMap<string, StandingPass>> {
  try {
    const read = ledger.reconciler.passes(passes.map(({ name }) => name));
    return await answerWithin(read, withinMs);
  } catch (error) {
    log.warn("the reconciler's rows could not be read: every pass begins at its first row", {
      error: errorInLog(error),
    });
    return new Map();
  }
}

/** Owners that stand aside, by pass. What was done stays done where that cannot be written. */
async function noted(
  notes: Parameters<Ledger["reconciler"]["note"]>[1],
  withinMs: number,
  { ledger, log, worker }: Pick<FrameOptions, "ledger" | "log" | "worker">,
): Promise<ReadonlyMap<string, number>> {
  try {
    return await answerWithin(ledger.reconciler.note(worker, notes), withinMs);
  } catch (error) {
    log.warn("what the passes did could not be written", {
      error: errorInLog(error),
    });
    return new Map();
  }
}
