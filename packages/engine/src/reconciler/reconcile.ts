import type { PassName } from "@ghouls/core";
import { runPasses, type FrameOptions } from "./frame.ts";
import type { PassReport } from "./pass-run.ts";
import { passesOf, type PassesOptions } from "./passes.ts";

export type ReconcileOptions = PassesOptions & FrameOptions;

/** What each pass did. */
export type ReconcileReport = Readonly<Record<PassName, PassReport>>;

/**
 * Runs every pass that exists, page by page, and ends inside its invocation. Several at once are harmless: every repair is
 * guarded, and publications are repeatable.
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  return Object.fromEntries(await runPasses(passesOf(options), options)) as ReconcileReport;
}
