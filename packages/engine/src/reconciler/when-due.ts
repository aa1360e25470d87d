import { type HintState, type WakeHint, errorInLog } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { answerWithin } from "../patience.ts";
import { afterPassesMs, measure, type MeasureOptions } from "./measure.ts";
import { reconcile, type ReconcileOptions, type ReconcileReport } from "./reconcile.ts";
import { raisedTo, wakeOf } from "./wake.ts";

export interface ReconcileWhenDueOptions extends ReconcileOptions {
  readonly ledger: ReconcileOptions["ledger"] & MeasureOptions["ledger"] & Pick<Ledger, "nextLook">;
  readonly hint: WakeHint;
  /** What one call to the hint may take, in milliseconds; 1,500 by default. */
  readonly hintPatienceMs?: number | undefined;
}

/** Nothing was connected to: the ledger need not be looked at before `until`. */
export interface Skipped {
  readonly skipped: true;
  readonly until: string;
}

/**
 * Reconciles where the hint says so, or cannot say (design.md §3, Reconcile). The hint is read before the ledger is looked
 * at, and raised after it only if nothing has lowered it since: of a lowering and a raise the lowering wins.
 */
export async function reconcileWhenDue(options: ReconcileWhenDueOptions): Promise<ReconcileReport | Skipped> {
  const { clock, hint, log, hintPatienceMs = 1_500 } = options;
  const readAtMs = clock.wallMs();
  let read: { readonly state: HintState | undefined } | undefined;
  try {
    read = { state: await answerWithin(hint.read(), hintPatienceMs) };
  } catch (error) {
    log.warn("the hint could not be read: the ledger is looked at", { error: errorInLog(error) });
  }
  const wake = wakeOf(read?.state, readAtMs);
  if (!wake.connect) return { skipped: true, until: new Date(wake.untilMs).toISOString() };
  const report = await reconcile(options);
  await measure(report, options);
  if (hint.keeps && read !== undefined && isWhole(report)) await raise(options, read.state, readAtMs);
  return report;
}

async function raise(
  { ledger, hint, clock, log, remainingMs, hintPatienceMs = 1_500 }: ReconcileWhenDueOptions,
  state: HintState | undefined,
  readAtMs: number,
): Promise<void> {
  try {
    const atMs = clock.wallMs();
    const dueInSeconds = await answerWithin(ledger.nextLook(), afterPassesMs(remainingMs));
    const dueAtMs = raisedTo(state, readAtMs, { atMs, dueInSeconds });
    if (dueAtMs === undefined) return;
    const patienceMs = Math.min(hintPatienceMs, Math.max(0, remainingMs()));
    await answerWithin(hint.raise(state?.version, atMs, dueAtMs), patienceMs);
  } catch (error) {
    // It stays where it is, so the next invocation looks again.
    log.warn("the hint could not be raised", { error: errorInLog(error) });
  }
}

/** A pass that was interrupted, did not come to its turn or could not do a part of its work says nothing about the rest. */
function isWhole(report: ReconcileReport): boolean {
  return Object.values(report).every(
    // Those that stand aside are part of the next look: as due as they are, and at their next turn.
    ({ pages, failed, error }) => error === undefined && pages > 0 && failed === 0,
  );
}
