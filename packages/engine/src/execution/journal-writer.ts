import { UnserializableError, serialize, sha256, type CallId } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { StepEnd } from "./step-run.ts";

/** Largest journal of a run, in bytes of its stored results. */
const MAX_JOURNAL_BYTES = 32 * 1_048_576;

export type Written =
  | { readonly written: true; readonly text: string | undefined; readonly completedAt: Date }
  /** Nothing was written, or nobody knows: the hop ends like this. */
  | { readonly written: false; readonly end: HopEnd };

/** Puts the results of one hop into the journal, under its claim and within the caps. */
export class JournalWriter {
  readonly #claim: ClaimedRun;
  readonly #deps: Pick<ExecutionDeps, "ledger" | "codec" | "faults">;
  #bytes: number;

  constructor(claim: ClaimedRun, deps: Pick<ExecutionDeps, "ledger" | "codec" | "faults">) {
    this.#claim = claim;
    this.#deps = deps;
    this.#bytes = claim.journalBytes;
  }

  /** Never rejects: what went wrong is how the hop ends. */
  async write(
    call: CallId,
    end: Exclude<StepEnd, { outcome: "abandoned" }>,
    tookMs: number,
  ): Promise<Written> {
    try {
      return await this.#append(call, end, tookMs);
    } catch (error) {
      if (!(error instanceof UnserializableError)) return { written: false, end: { kind: "unknown", error } };
      const message = `the result of step "${call.name}": ${error.message}`;
      return { written: false, end: refusal(error.reason, message, call.name) };
    }
  }

  async #append(
    call: CallId,
    end: Exclude<StepEnd, { outcome: "abandoned" }>,
    tookMs: number,
  ): Promise<Written> {
    const { tenantId, runId } = this.#claim;
    const text = serialize(end.outcome === "ok" ? end.value : end.failure);
    const stored =
      text === undefined ? null : await this.#deps.codec.encode(text, { tenantId, runId, kind: "result" });
    const bytes = stored === null ? 0 : Buffer.byteLength(stored);
    if (this.#bytes + bytes > MAX_JOURNAL_BYTES) {
      throw new UnserializableError(
        "too_large",
        `it would bring the run's journal above ${MAX_JOURNAL_BYTES} bytes`,
      );
    }
    const entry = await this.#deps.ledger.journal.appendIfClaimed(this.#claim, {
      ...call,
      outcome: end.outcome,
      resultText: stored,
      resultDigest: stored === null ? null : sha256(stored),
      resultBytes: bytes,
      tries: end.tries,
      tookMs,
    });
    if (entry === null) return { written: false, end: { kind: "fenced" } };
    this.#bytes += bytes;
    await this.#deps.faults("worker.after-journal", call.name);
    return { written: true, text, completedAt: entry.completedAt };
  }
}
