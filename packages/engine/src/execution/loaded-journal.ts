import { sha256, type CallId, type Codec } from "@ghouls/core";
import type { ClaimedRun, StoredEntry } from "@ghouls/ledger";

/** A journal entry as replay uses it: verified against its digest, and decoded. */
export interface LoadedEntry extends CallId {
  readonly ordinal: number;
  readonly outcome: "ok" | "error";
  /** JSON text; null for `undefined`. */
  readonly text: string | null;
  readonly tries: number;
  readonly completedAt: Date;
}

/** Why a run's own material cannot be trusted. */
export class DisagreementError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DisagreementError";
  }
}

/**
 * Decodes a text after comparing it with the digest that was taken over exactly what was stored.
 * @throws DisagreementError where they differ, or where the codec cannot read it
 */
export async function verified(
  stored: string,
  digest: string | null,
  what: string,
  decode: (stored: string) => Promise<string>,
): Promise<string> {
  if (digest === null || sha256(stored) !== digest)
    throw new DisagreementError(`${what} disagrees with its digest`);
  try {
    return await decode(stored);
  } catch (error) {
    throw new DisagreementError(`${what} cannot be decoded: ${String(error).slice(0, 200)}`);
  }
}

/**
 * Checks that a journal is whole and decodes it.
 * @throws DisagreementError for a missing or altered entry: nothing starts over to fill a gap
 */
export async function loadJournal(
  claim: ClaimedRun,
  stored: readonly StoredEntry[],
  codec: Codec,
): Promise<LoadedEntry[]> {
  if (stored.length !== claim.journalLength) {
    throw new DisagreementError(
      `the journal has ${stored.length} entries, the run says ${claim.journalLength}`,
    );
  }
  const context = { tenantId: claim.tenantId, runId: claim.runId, kind: "result" } as const;
  return Promise.all(
    stored.map(async (entry, index) => {
      if (entry.ordinal !== index + 1) throw new DisagreementError(`journal entry ${index + 1} is missing`);
      const { ordinal, epoch, scope, kind, name, nth, outcome, tries, completedAt, resultText } = entry;
      const text =
        resultText === null
          ? emptied(entry)
          : await verified(resultText, entry.resultDigest, `journal entry ${ordinal}`, (value) =>
              codec.decode(value, context),
            );
      return { ordinal, epoch, scope, kind, name, nth, outcome, text, tries, completedAt };
    }),
  );
}

/** No text and no digest is `undefined`; no text with a digest is a body that is gone. */
function emptied(entry: StoredEntry): null {
  if (entry.resultDigest !== null)
    throw new DisagreementError(`the result of journal entry ${entry.ordinal} is gone`);
  return null;
}
