import { GhoulsError, PASSES, type PassName, type wire } from "@ghouls/core";
import type { DegradedOwner, DegradedPage, KeptRepair, Ledger, PassState } from "@ghouls/ledger";
import { cursorOf, positionOf } from "../cursor.ts";
import type { ReconcilerService } from "../services.ts";
import { lookOnly } from "./dry-run.ts";
import type { Pass } from "./pass.ts";
import { runPasses, type FrameOptions } from "./frame.ts";
import { passesOf, type PassesOptions } from "./passes.ts";

export interface ReconcilerServiceOptions extends Omit<
  PassesOptions & FrameOptions,
  "remainingMs" | "ledger"
> {
  readonly ledger: Ledger;
  /** What one answer may take, in milliseconds: well below what ends its function by force. */
  readonly answerMs: number;
}

/** The reconciler as people see it and set it to work. It spans tenants: whoever calls it reaches the whole deployment. */
export function createReconcilerService(options: ReconcilerServiceOptions): ReconcilerService {
  const { ledger, clock, answerMs, pageSize } = options;
  return {
    state: async ({ limit, cursor, degradedCursor }) => {
      const [states, pages, { owners, next: nextOwner }, { repairs, next }] = await Promise.all([
        ledger.reconciler.states(),
        ledger.reconciler.degradedPages(limit),
        ledger.reconciler.degradedOwners(
          limit,
          degradedCursor === undefined ? undefined : ownerOf(degradedCursor),
        ),
        ledger.reconciler.repairs(limit, cursor === undefined ? undefined : positionOf(cursor)),
      ]);
      return {
        passes: known(states).map(stateView),
        degradedPages: known(pages).map(pageView),
        degradedOwners: known(owners).map(ownerView),
        nextDegradedCursor:
          nextOwner === undefined
            ? null
            : Buffer.from(`${nextOwner.pass} ${nextOwner.owner}`).toString("base64url"),
        repairs: known(repairs).map(repairView),
        nextCursor: next === undefined ? null : cursorOf(next),
      };
    },

    run: async ({ passes: names, dryRun = false }) => {
      const until = clock.monotonicMs() + answerMs;
      const remainingMs = () => until - clock.monotonicMs();
      const passes = passesOf({ ...options, remainingMs }).filter(
        ({ name }) => names?.includes(name) ?? true,
      );
      // Only the reconciler's own function reads what queues have given up on: to look at it hides it from others for a while.
      const blind = ({ name }: Pass) => name === "dead-letters";
      if (dryRun) {
        const seen = await lookOnly(
          passes.filter((pass) => !blind(pass)),
          pageSize,
          remainingMs,
        );
        return { dryRun, passes: [...seen, ...passes.filter(blind).map(({ name }) => later(name))] };
      }
      // An operator's word is a turn for those that stand aside; what opens work lowers the hint.
      await ledger.reconciler.makeDue(passes.map(({ name }) => name));
      const reports = await runPasses(
        passes.filter(({ asks }) => !asks),
        { ...options, remainingMs },
      );
      return {
        dryRun,
        passes: passes.map(({ name }): wire.PassAnswer => {
          const report = reports.get(name);
          if (report === undefined) return later(name);
          const { pages, error = null, ...counts } = report;
          return { pass: name, did: "ran", ...counts, error, findings: [], more: pages === 0 };
        }),
      };
    },
  };
}

/** The next invocation of the reconciler takes it. */
function later(pass: PassName): wire.PassAnswer {
  const nothing = { found: 0, repaired: 0, left: 0, failed: 0, degraded: 0 };
  return { pass, did: "later", ...nothing, error: null, findings: [], more: false };
}

/** Rows of a pass that a later version has are not this one's to tell. */
function known<T extends { readonly pass: string }>(
  found: readonly T[],
): (Omit<T, "pass"> & { readonly pass: PassName })[] {
  return found.flatMap((one) => {
    const pass = PASSES.find((name) => name === one.pass);
    return pass === undefined ? [] : [{ ...one, pass }];
  });
}

type Known<T> = Omit<T, "pass"> & { readonly pass: PassName };

function stateView(state: Known<PassState>): wire.PassState {
  const { roundUntil, startedAt, endedAt } = state;
  return {
    ...state,
    roundUntil: roundUntil?.toISOString() ?? null,
    startedAt: startedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}

function pageView(page: Known<DegradedPage>): wire.ReconcilerState["degradedPages"][number] {
  return { ...page, degradedAt: page.degradedAt.toISOString(), nextTurnAt: page.nextTurnAt.toISOString() };
}

function ownerView(owner: Known<DegradedOwner>): wire.ReconcilerState["degradedOwners"][number] {
  return { ...owner, degradedAt: owner.degradedAt.toISOString(), nextTurnAt: owner.nextTurnAt.toISOString() };
}

function repairView(repair: Known<KeptRepair>): wire.ReconcilerState["repairs"][number] {
  return { ...repair, at: repair.at.toISOString() };
}

/** @throws GhoulsError invalid_request for what is no cursor of ours */
function ownerOf(cursor: string): { readonly pass: string; readonly owner: string } {
  const text = Buffer.from(cursor, "base64url").toString();
  const space = text.indexOf(" ");
  if (space < 1 || text.includes("\0"))
    throw new GhoulsError("invalid_request", "the cursor is none of ours", {
      fix: "Take nextDegradedCursor of the page before, or none for the first page.",
    });
  return { pass: text.slice(0, space), owner: text.slice(space + 1) };
}
