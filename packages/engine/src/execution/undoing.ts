import { idempotencyKeyOf, undoKeyOf, type UndoContext, nameInLog } from "@ghouls/core";
import type { ClaimedRun, ContainmentItem } from "@ghouls/ledger";
import type { Undoable } from "./calls.ts";
import { standIn } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Hop } from "./hop.ts";
import { askForAPerson } from "./live-step.ts";
import { callOnce } from "./step-run.ts";

const NO_TIME = "its timeout does not fit what is left of the invocation";
const NO_UNDO = "its code does not come to it any more, or has no undo for it";

/** What is known of a step that is to be undone. */
export interface Known {
  readonly outcome: "happened" | "failed" | "unknown";
  readonly result: unknown;
}
export const UNKNOWN: Known = { outcome: "unknown", result: undefined };

interface Undoing {
  readonly claim: ClaimedRun;
  readonly deps: ExecutionDeps;
  readonly invocation: Invocation;
  readonly hop: Hop;
  /** The step of an item, as its code has it, and what the journal or its probe says of it. */
  readonly known: (item: ContainmentItem) => Known;
  readonly undoable: (item: ContainmentItem) => Undoable | undefined;
  /** Fires when nothing of this claim is wanted any more. */
  readonly signal: AbortSignal;
  /** Whether no further one is to start. */
  readonly stops: () => boolean;
}

/** What came of it: all is undone, some of it, or why not even the next one. */
export type Undone =
  | { readonly kind: "all" | "some" | "fenced" }
  | { readonly kind: "none"; readonly why: string };

/**
 * Undoes the steps of an ending run one after another, the last one that was started first, once nothing else of it can act: one
 * that cannot be undone holds up those before it. Each is a call under a key of its own, acknowledged under the claim.
 */
export async function undo(undoing: Undoing): Promise<Undone> {
  const { claim, deps } = undoing;
  const open = (await deps.ledger.items.ofRun(claim)).filter(({ acknowledgedAt }) => acknowledgedAt === null);
  const items = new Map(open.flatMap((item) => (item.kind === "undo" ? [[item.key, item] as const] : [])));
  if (items.size === 0) return { kind: "all" };
  // Its own effects and jobs end before.
  if (open.some(({ kind }) => kind !== "undo")) return { kind: "some" };
  const wanted = await deps.ledger.undos.ofRun(claim);
  for (const item of items.values()) {
    if (wanted.some(({ key }) => key === item.key)) continue;
    if (!(await acknowledge(item, "it has not happened, and cannot any more", undoing)))
      return { kind: "fenced" };
    items.delete(item.key);
  }
  let undone = 0;
  for (const { key, name } of wanted) {
    const item = items.get(key);
    if (item === undefined) continue;
    // What stopped it is no fault of the undo.
    if (undoing.stops()) return { kind: "some" };
    const why = await undoOne(item, name, undoing);
    if (undoing.signal.aborted) return { kind: "fenced" };
    if (why === NO_TIME && undone > 0) return { kind: "some" };
    if (why !== undefined) {
      await deps.ledger.items.noteError(claim, item, why);
      return { kind: "none", why: `step "${name}" could not be undone: ${why}` };
    }
    if (!(await acknowledge(item, "it is undone", undoing))) return { kind: "fenced" };
    await deps.faults("worker.after-undo", name);
    undone += 1;
  }
  return { kind: "all" };
}

/** Answers why it is not undone, as far as anybody knows. */
async function undoOne(item: ContainmentItem, name: string, undoing: Undoing): Promise<string | undefined> {
  const { claim, deps, hop, invocation, undoable, known, signal } = undoing;
  const found = undoable(item);
  if (found === undefined) return NO_UNDO;
  const { id, step } = found;
  const { outcome, result } = known(item);
  const { undo: run, timeoutMs } = step;
  if (run === undefined) return NO_UNDO;
  if (timeoutMs > invocation.remainingMs() - deps.settings.settleReserveMs) return NO_TIME;
  const log = deps.logFor(claim);
  await deps.faults("worker.before-undo", name);
  const where = { hop, scope: id.scope, step: `undo of ${name}`, held: undefined };
  const end = await standIn(where, () =>
    callOnce(
      {
        name: `undo of ${name}`,
        idempotencyKey: undoKeyOf(claim.firstRunId, id),
        options: { timeoutMs },
        run: ({ idempotencyKey, signal: stop, log: told }) =>
          run({
            idempotencyKey,
            stepIdempotencyKey: idempotencyKeyOf(claim.firstRunId, id),
            signal: stop,
            log: told,
            outcome,
            result: result as UndoContext["result"],
          }),
        hopSignal: signal,
        log,
        overdueAfterMs: deps.settings.overdueAfterMs,
        onOverdue: () => askForAPerson({ call: id, claim, log }, deps),
      },
      1,
    ),
  );
  if (end.outcome === "ok") return undefined;
  log.warn("a step could not be undone; it is tried again later", {
    step: name,
    error: nameInLog(end.failure.name),
  });
  return end.failure.message.slice(0, 300);
}

/** False where the claim is gone. What an operator has settled meanwhile is settled. */
async function acknowledge(
  { kind, key }: ContainmentItem,
  words: string,
  { claim, deps }: Undoing,
): Promise<boolean> {
  const said = await deps.ledger.items.acknowledge(claim, { kind, key, by: "undo", words, under: claim });
  if (said !== null) return true;
  const now = (await deps.ledger.items.ofRun(claim)).find((item) => item.kind === kind && item.key === key);
  return now?.acknowledgedAt !== null;
}
