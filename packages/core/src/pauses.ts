import type { PauseWord } from "./run.ts";

/** What a pause may hold beside a single run. */
export const PAUSE_SCOPES = ["all", "workflow", "tenant"] as const;
export type PauseScope = (typeof PAUSE_SCOPES)[number];

/** What a pause holds: every run, those of one tenant, or those of one workflow, there or in every tenant. */
export interface PauseTarget {
  readonly scope: PauseScope;
  /** Null: in every tenant. */
  readonly tenantId: string | null;
  /** Null: every workflow. */
  readonly workflow: string | null;
}

/** A pause of more than one run, as long as nobody has lifted it. */
export interface Pause extends PauseTarget, PauseWord {
  readonly pauseId: string;
}

/** Whether a pause holds the runs of a workflow in a tenant. */
export function holds(
  pause: PauseTarget,
  run: { readonly tenantId: string; readonly workflow: string },
): boolean {
  return (
    (pause.tenantId === null || pause.tenantId === run.tenantId) &&
    (pause.workflow === null || pause.workflow === run.workflow)
  );
}
