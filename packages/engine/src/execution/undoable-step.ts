import { NotDoneError, type CallId, type StepContext } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import type { ResolvedStepOptions } from "./step-options.ts";

interface Undoable {
  readonly call: CallId;
  readonly claim: ClaimedRun;
  readonly run: (context: StepContext) => unknown;
  readonly options: ResolvedStepOptions;
  readonly triesBefore: number;
}

interface Begun {
  readonly run: (context: StepContext) => unknown;
  /** Its function has thrown for good. False where the claim is gone. */
  failed(): Promise<boolean>;
}

/**
 * Commits the start of a step that has an undo, before its call (design.md §3, Step): from then on an ending undoes it, unless
 * each of its tries says that it has not happened. Of an effect that happens once its intents say so. Null where the claim is gone.
 */
export async function beginUndoable(step: Undoable, { ledger }: ExecutionDeps): Promise<Begun | null> {
  const { call, claim, run, options, triesBefore } = step;
  if (options.undo === undefined) return { run, failed: () => Promise.resolve(true) };
  const started = await ledger.undos.startIfClaimed(claim, call, options.once);
  if (started === null) return null;
  let mayHaveHappened = options.once || started.again || triesBefore > 0;
  return {
    run: async (context) => {
      try {
        return await run(context);
      } catch (error) {
        if (!(error instanceof NotDoneError)) mayHaveHappened = true;
        throw error;
      }
    },
    failed: async () => mayHaveHappened || ledger.undos.clearIfClaimed(claim, call),
  };
}
