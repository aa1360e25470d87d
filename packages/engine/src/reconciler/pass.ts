import type { PassName } from "@ghouls/core";
import type { DueLook, PassPage, RepairNote, RunKey } from "@ghouls/ledger";

/** What a pass looks after, one at a time: a run, an attempt, a tenant's unsealed records. */
export interface Owner {
  readonly tenantId: string;
  /** Null where it is no run's. */
  readonly runId: string | null;
  /** Unique among the owners of its pass that are due; for most it is the run's id. */
  readonly owner: string;
}

/** What an owner's turn may take. */
export interface Turn {
  /** Fires at its deadline: what is still asked is asked in vain. */
  readonly signal: AbortSignal;
  /** Milliseconds until then. */
  readonly withinMs: () => number;
}

/** What a pass has found of an owner, in words: for its row of repairs, and for a dry run. */
interface Finding {
  /** What is wrong and what is done about it, such as "timer due: resume". */
  readonly rule: string;
  readonly before: string;
}

/** What came of a turn. "left": somebody was faster, or it is not time yet. */
export type Outcome =
  | { readonly kind: "repaired" }
  | { readonly kind: "left" }
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** Whether its own row says when it is tried again, as that of a publication does: then it needs no turn of its own. */
      readonly ownTime?: boolean;
    };

export const REPAIRED: Outcome = { kind: "repaired" };
export const LEFT: Outcome = { kind: "left" };

/**
 * One repair of the reconciler over one kind of owner (design.md §3, Reconcile): it selects a bounded page after a keyset
 * cursor, decides purely, and writes guarded. What it writes has its row of `repairs` in the same commit.
 */
export interface Pass<Due extends Owner = Owner> {
  readonly name: PassName;
  /** Whether it asks somebody else than the ledger, so that a turn may take as long as one deadline. */
  readonly asks: boolean;
  /** Owners of one turn; 1 where absent. More than one share its deadline. */
  readonly batch?: number;
  /** Reads only. */
  find(look: DueLook): Promise<PassPage<Due>>;
  /** Pure. */
  describe(due: Due): Finding;
  /** An outcome for each, in their order. A rejection is a failure of all of them. */
  repair(due: readonly Due[], turn: Turn): Promise<readonly Outcome[]>;
}

/** A page whose owners are what they were found as. */
export function ownedBy<T extends RunKey>(
  page: PassPage<T>,
  ownerOf: (found: T) => string,
): PassPage<T & Owner> {
  return { found: page.found.map((one) => ({ ...one, owner: ownerOf(one) })), next: page.next };
}

/** What a row of repairs says of an owner before its turn. */
export function noteOf<Due extends Owner>(pass: Pick<Pass<Due>, "name" | "describe">, due: Due): RepairNote {
  return { pass: pass.name, ...pass.describe(due) };
}
