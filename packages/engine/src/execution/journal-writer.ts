import {
  MAX_JOURNAL_BYTES,
  UnserializableError,
  callKey,
  serialize,
  sha256,
  type CallId,
} from "@ghouls/core";
import type { ClaimedRun, NewEntry } from "@ghouls/ledger";
import { MAX_COPY_BYTES } from "../evidence/step-copies.ts";
import { tellEntry } from "../live/told.ts";
import type { ExecutionDeps } from "./deps.ts";
import { refusal, type HopEnd } from "./hop-end.ts";
import type { JournalItem } from "./loaded-journal.ts";
import { persist, type Persistence } from "./persist.ts";
import type { StepOutcome } from "./step-run.ts";

export type Written =
  | { readonly written: true; readonly text: string | undefined; readonly completedAt: Date }
  /** Nothing was written, or nobody knows: the hop ends like this. */
  | { readonly written: false; readonly end: HopEnd };

type WriterDeps = Pick<ExecutionDeps, "ledger" | "codec" | "faults" | "copies" | "live">;

/** Where an entry stands in the journal, and since when. */
interface Journaled {
  readonly ordinal: number;
  readonly completedAt: Date;
}

/** Puts the results of one hop into the journal, under its claim and within the caps. */
export class JournalWriter {
  readonly #claim: ClaimedRun;
  readonly #deps: WriterDeps;
  readonly #entries: JournalItem[];
  readonly #persistence: Persistence;
  #bytes: number;

  constructor(
    claim: ClaimedRun,
    journal: readonly JournalItem[],
    deps: WriterDeps,
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
  adopt(call: CallId, journaled: Journaled, digest: string | null, text: string | null): void {
    const bytes = text === null ? 0 : Buffer.byteLength(text);
    this.#bytes += bytes;
    this.#entries.push({ ...call, ordinal: journaled.ordinal, outcome: "ok", digest });
    const entry = { outcome: "ok", resultText: text, resultDigest: digest, resultBytes: bytes } as const;
    this.#tell(call, { ...entry, tries: 1, tookMs: 0 }, journaled);
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
      effect: "happened",
    });
  }

  /** Never rejects: what went wrong is how the hop ends. */
  async write(call: CallId, end: StepOutcome, tookMs: number): Promise<Written> {
    const prepared = await this.prepare(call, end, tookMs);
    if ("end" in prepared) return { written: false, end: prepared.end };
    try {
      const entry = await this.insist(() =>
        this.#deps.ledger.journal.appendIfClaimed(this.#claim, prepared.entry),
      );
      if (entry === null) return { written: false, end: { kind: "fenced" } };
      await this.keep(prepared.entry, entry);
      return { written: true, text: prepared.text, completedAt: entry.completedAt };
    } catch (error) {
      return { written: false, end: { kind: "unknown", error } };
    }
  }

  /** The entry of a call as it is stored; or, where it cannot be, how the hop ends. Never rejects. */
  async prepare(
    call: CallId,
    end: StepOutcome,
    tookMs: number,
  ): Promise<{ readonly entry: NewEntry; readonly text: string | undefined } | { readonly end: HopEnd }> {
    try {
      return await this.#prepared(call, end, tookMs);
    } catch (error) {
      if (!(error instanceof UnserializableError)) return { end: { kind: "unknown", error } };
      const message = `the result of ${call.kind} "${call.name}": ${error.message}`;
      return { end: refusal(error.reason, message, call.name) };
    }
  }

  async #prepared(call: CallId, end: StepOutcome, tookMs: number) {
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
    const entry = {
      ...call,
      outcome: end.outcome,
      resultText: stored,
      resultDigest: stored === null ? null : sha256(stored),
      resultBytes: bytes,
      tries: end.tries,
      tookMs,
      closesIntent: end.outcome === "ok" && end.closesIntent === true,
    };
    return { entry, text };
  }

  /** Repeats what the ledger is asked while it is out of reach, as long as this hop may. */
  insist<T>(ask: () => Promise<T>): Promise<T> {
    return persist(ask, this.#persistence);
  }

  /** An entry of this hop is in the journal. */
  async keep(entry: NewEntry, journaled: Journaled): Promise<void> {
    const { epoch, scope, kind, name, nth, outcome, resultDigest: digest } = entry;
    const { ordinal } = journaled;
    this.#bytes += entry.resultBytes;
    this.#entries.push({ epoch, scope, kind, name, nth, ordinal, outcome, digest });
    this.#tell({ epoch, scope, kind, name, nth }, entry, journaled);
    await this.#deps.faults("worker.after-journal", name);
  }

  /** For people, those who look on now and those who look later; nothing waits for it. */
  #tell(
    call: CallId,
    entry: Pick<NewEntry, "outcome" | "resultText" | "resultDigest" | "resultBytes" | "tries" | "tookMs">,
    { ordinal, completedAt }: Journaled,
  ): void {
    const { outcome, tries } = entry;
    const startedAt = new Date(completedAt.getTime() - entry.tookMs);
    const { seq } = this.#claim;
    tellEntry(
      this.#claim,
      { ...call, seq, ordinal, outcome, tries, startedAt, completedAt },
      this.#deps.live,
    );
    this.#deps.copies?.add({
      claim: this.#claim,
      ordinal,
      call: callKey(call),
      outcome,
      tries,
      startedAt,
      completedAt,
      bodyText: entry.resultBytes > MAX_COPY_BYTES ? null : entry.resultText,
      bodyDigest: entry.resultDigest,
    });
  }
}
