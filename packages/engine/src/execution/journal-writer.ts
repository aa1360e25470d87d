import {
  MAX_JOURNAL_BYTES,
  UnserializableError,
  callKey,
  serialize,
  sha256,
  type CallId,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { JournalItem } from "./loaded-journal.ts";
import { persist, type Persistence } from "./persist.ts";
import type { StepOutcome } from "./step-run.ts";

export type Written =
  | { readonly written: true; readonly text: string | undefined; readonly completedAt: Date }
  /** Nothing was written, or nobody knows: the hop ends like this. */
  | { readonly written: false; readonly end: HopEnd };

/** Puts the results of one hop into the journal, under its claim and within the caps. */
export class JournalWriter {
  readonly #claim: ClaimedRun;
  readonly #deps: Pick<ExecutionDeps, "ledger" | "codec" | "faults">;
  readonly #entries: JournalItem[];
  readonly #persistence: Persistence;
  #bytes: number;

  constructor(
    claim: ClaimedRun,
    journal: readonly JournalItem[],
    deps: Pick<ExecutionDeps, "ledger" | "codec" | "faults">,
    persistence: Persistence,
  ) {
    this.#persistence = persistence;
    this.#claim = claim;
    this.#deps = deps;
    this.#bytes = claim.journalBytes;
    this.#entries = [...journal];
  }

  /** The journal as this hop knows it. */
  entries(): readonly JournalItem[] {
    return this.#entries;
  }

  /** What the ledger has journaled with something else, behind all that was. */
  adopt(call: CallId, ordinal: number, digest: string | null, text: string | null): void {
    this.#bytes += text === null ? 0 : Buffer.byteLength(text);
    this.#entries.push({ ...call, ordinal, outcome: "ok", digest });
  }

  /** Keeps what came after the claim was taken away, for people. Never rejects. */
  async reject(call: CallId, end: StepOutcome): Promise<unknown> {
    try {
      const { tenantId, runId } = this.#claim;
      const text = serialize(end.outcome === "ok" ? end.value : end.failure);
      const stored =
        text === undefined ? null : await this.#deps.codec.encode(text, { tenantId, runId, kind: "result" });
      await this.#deps.ledger.evidence.reject(this.#claim, {
        call: callKey(call),
        outcome: end.outcome,
        bodyText: stored,
        bodyDigest: stored === null ? null : sha256(stored),
      });
      await this.#tellEffect(call, end);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Whoever holds the token of a fenced claim still knows that its effect has happened. */
  async #tellEffect(call: CallId, end: StepOutcome): Promise<void> {
    if (end.outcome !== "ok" || end.closesIntent !== true) return;
    const { epoch, scope, kind, name, nth } = call;
    const key = `[${[epoch, scope, kind, name, nth].map((part) => JSON.stringify(part)).join(", ")}]`;
    const { token } = this.#claim;
    const words = "it has happened, says the worker that made the call";
    await this.#deps.ledger.items.acknowledge(this.#claim, {
      kind: "effect",
      key,
      by: "worker",
      words,
      token,
    });
  }

  /** Never rejects: what went wrong is how the hop ends. */
  async write(call: CallId, end: StepOutcome, tookMs: number): Promise<Written> {
    try {
      return await this.#append(call, end, tookMs);
    } catch (error) {
      if (!(error instanceof UnserializableError)) return { written: false, end: { kind: "unknown", error } };
      const message = `the result of step "${call.name}": ${error.message}`;
      return { written: false, end: refusal(error.reason, message, call.name) };
    }
  }

  async #append(call: CallId, end: StepOutcome, tookMs: number): Promise<Written> {
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
    const appended = {
      ...call,
      outcome: end.outcome,
      resultText: stored,
      resultDigest: stored === null ? null : sha256(stored),
      resultBytes: bytes,
      tries: end.tries,
      tookMs,
      closesIntent: end.outcome === "ok" && end.closesIntent === true,
    };
    const entry = await persist(
      () => this.#deps.ledger.journal.appendIfClaimed(this.#claim, appended),
      this.#persistence,
    );
    if (entry === null) return { written: false, end: { kind: "fenced" } };
    this.#bytes += bytes;
    this.#entries.push({
      ...call,
      ordinal: entry.ordinal,
      outcome: end.outcome,
      digest: stored === null ? null : sha256(stored),
    });
    await this.#deps.faults("worker.after-journal", call.name);
    return { written: true, text, completedAt: entry.completedAt };
  }
}
