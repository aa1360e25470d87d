import { callKey, type CallId } from "@ghouls/core";
import type { ClaimedRun, OpenIntent } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";

/** What is known of the effect of one call. */
interface KnownEffect {
  /** Of an earlier hop, without an outcome. */
  readonly openIntent: OpenIntent | undefined;
  /** Of the last intent of this call; 0 where there is none. */
  readonly lastNumber: number;
  /** Its intents that were tries: not those that lost workers left behind. */
  readonly triesUsed: number;
}

/** What earlier hops, and this one, left of the effects of a run. */
export interface Effects {
  of(call: CallId): KnownEffect;
  /** A try of this hop has certainly not happened. */
  tried(call: CallId, number: number, tries: number): void;
  /** Calls with an intent of an earlier hop that has no outcome. */
  open(): readonly CallId[];
  /** Says in the ledger that a step starts, after those that were called before it: undone is in reverse order of start. */
  startInOrder<T>(start: () => Promise<T>): Promise<T>;
}

const NONE: KnownEffect = { openIntent: undefined, lastNumber: 0, triesUsed: 0 };

/** Reads it; a first hop has none, and asks nothing. */
export async function loadEffects(claim: ClaimedRun, deps: Pick<ExecutionDeps, "ledger">): Promise<Effects> {
  const known = claim.seq === 1 ? new Map<string, KnownEffect>() : await readEffects(claim, deps);
  let before: Promise<unknown> = Promise.resolve();
  return {
    of: (call) => known.get(callKey(call)) ?? NONE,
    tried: (call, lastNumber, triesUsed) =>
      void known.set(callKey(call), { openIntent: undefined, lastNumber, triesUsed }),
    open: () => [...known.values()].flatMap(({ openIntent }) => openIntent ?? []),
    startInOrder: (start) => {
      const started = before.then(start);
      // One that could not start is no reason for the next one not to.
      before = started.catch(() => undefined);
      return started;
    },
  };
}

async function readEffects(
  claim: ClaimedRun,
  deps: Pick<ExecutionDeps, "ledger">,
): Promise<Map<string, KnownEffect>> {
  const [open, last] = await Promise.all([
    deps.ledger.intents.openOfRun(claim),
    deps.ledger.intents.lastOfRun(claim),
  ]);
  const openByKey = new Map(open.map((intent) => [callKey(intent), intent]));
  return new Map(
    last.map((intent) => {
      const key = callKey(intent);
      return [key, { openIntent: openByKey.get(key), lastNumber: intent.number, triesUsed: intent.tries }];
    }),
  );
}
