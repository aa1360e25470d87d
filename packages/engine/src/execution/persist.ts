import { LedgerError } from "@ghouls/ledger";

export interface Persistence {
  /** Whether there is still time for a write: the invocation goes on, and the claim is not fenced. */
  readonly mayGoOn: () => boolean;
  /** Chance in [0, 1) for the spread of the pauses. */
  readonly chance: () => number;
  readonly onPause: (error: LedgerError) => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Repeats a guarded write while the ledger is out of reach, for as long as the worker may: its claim is believed until its
 * lease ends, so a short outage costs it nothing. A write that is repeated recognises its own earlier try.
 * @throws LedgerError once there is no time left, or for a defect
 */
export async function persist<T>(write: () => Promise<T>, persistence: Persistence): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof LedgerError) || error.kind === "defect" || error.kind === "schema") throw error;
      if (!persistence.mayGoOn()) throw error;
      persistence.onPause(error);
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + persistence.chance() / 2)));
      if (!persistence.mayGoOn()) throw error;
    }
  }
}
