import { callKey, describeFailure, sha256, type CallId, type CallKind, type Codec } from "@ghouls/core";
import type { Checkpoint, ClaimedRun, StoredEntry } from "@ghouls/ledger";

/** What a checkpoint's digest covers of an entry. */
export interface JournalItem extends CallId {
  readonly ordinal: number;
  readonly outcome: "ok" | "error";
  /** Of the result as it is stored; null for `undefined`. */
  readonly digest: string | null;
}

/** The digest of a journal, or of a prefix of one. */
export function journalDigest(items: readonly JournalItem[]): string {
  return sha256(
    JSON.stringify(items.map((item) => [item.ordinal, callKey(item), item.outcome, item.digest])),
  );
}

/** What a hop leaves of its journal. */
export function checkpointOf(claim: ClaimedRun, journal: readonly JournalItem[]): Checkpoint {
  return {
    workflowDigest: claim.workflow.digest,
    journalLength: claim.journalStart + journal.length,
    journalDigest: journalDigest(journal),
  };
}

/** A journal entry as replay uses it: verified against its digest, and decoded. */
export interface LoadedEntry extends JournalItem {
  /** JSON text; null for `undefined`. */
  readonly text: string | null;
  readonly tries: number;
  /** The delivery under which it was journaled. */
  readonly seq: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
}

/** Why a run's own material cannot be trusted. */
export class DisagreementError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DisagreementError";
  }
}

/** The codec could not read a text that is what was stored: its key service may be down. */
export class CodecError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CodecError";
  }
}

/**
 * Decodes a text after comparing it with the digest that was taken over exactly what was stored.
 * @throws DisagreementError where they differ, CodecError where the codec cannot read it just now
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
    // Of what is kept inside of it.
    if (error instanceof DisagreementError) throw error;
    throw new CodecError(`${what}: ${describeFailure(error).message.slice(0, 200)}`);
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
  const wanted = claim.journalLength - claim.journalStart;
  if (stored.length !== wanted) {
    throw new DisagreementError(`the journal has ${stored.length} entries, the run says ${wanted}`);
  }
  const { tenantId } = claim;
  return Promise.all(
    stored.map(async (entry, index) => {
      const expected = claim.journalStart + index + 1;
      if (entry.ordinal !== expected) throw new DisagreementError(`journal entry ${expected} is missing`);
      const {
        ordinal,
        epoch,
        scope,
        kind,
        name,
        nth,
        outcome,
        tries,
        seq,
        startedAt,
        completedAt,
        resultText,
      } = entry;
      const text =
        resultText === null
          ? emptied(entry)
          : await verified(resultText, entry.resultDigest, `journal entry ${ordinal}`, (value) =>
              isOfFunction(kind)
                ? codec.decode(value, { tenantId, runId: entry.storedFor, kind: "result" })
                : decodeWaitResult(kind, value, { tenantId, runId: entry.storedFor }, codec),
            );
      return {
        ordinal,
        epoch,
        scope,
        kind,
        name,
        nth,
        outcome,
        text,
        tries,
        seq,
        startedAt,
        completedAt,
        digest: entry.resultDigest,
      };
    }),
  );
}

/** Whether its result is a function's, which passed the codec as a whole. */
function isOfFunction(kind: CallKind): boolean {
  return kind === "step" || kind === "transaction";
}

/** Whether a hop has written it, and gone on from it: what closes a wait comes between two hops. */
export function isOfHop(kind: CallKind): boolean {
  return isOfFunction(kind) || kind === "reserve" || kind === "release";
}

/** The ledger writes the result of a wait; comments and payloads in it stay as they were stored. */
async function decodeWaitResult(
  kind: CallKind,
  text: string,
  { tenantId, runId }: Pick<ClaimedRun, "tenantId" | "runId">,
  codec: Codec,
): Promise<string> {
  if (kind === "child") return decodeChild(JSON.parse(text) as StoredChild, tenantId, codec);
  const result = JSON.parse(text) as {
    decisions?: { comment: string | null }[];
    payload?: string | null;
    report?: string | null;
    digest?: string | null;
  };
  if (result.report !== undefined) return decodeReport(result, { tenantId, runId }, codec);
  const decoded = { ...result } as Record<string, unknown>;
  if (result.decisions !== undefined) {
    decoded["decisions"] = await Promise.all(
      result.decisions.map(async (one) => ({
        ...one,
        comment:
          one.comment === null ? null : await codec.decode(one.comment, { tenantId, runId, kind: "comment" }),
      })),
    );
  }
  if (result.payload !== undefined) {
    decoded["payload"] =
      result.payload === null
        ? null
        : JSON.parse(await codec.decode(result.payload, { tenantId, runId, kind: "signal" }));
  }
  return JSON.stringify(decoded);
}

interface StoredChild {
  readonly outcome: "DONE" | "FAILED" | "CANCELLED";
  readonly runId: string;
  readonly text?: string | null;
  readonly digest?: string | null;
}

/** What a child ended with, as its own worker has stored it. */
async function decodeChild(
  { outcome, runId, text = null, digest = null }: StoredChild,
  tenantId: string,
  codec: Codec,
): Promise<string> {
  if (text === null) {
    if (digest !== null) throw new DisagreementError(`the end of child ${runId} is gone`);
    return JSON.stringify({ outcome, runId });
  }
  const kind = outcome === "DONE" ? "output" : "error";
  const body = await verified(text, digest, `the ${kind} of child ${runId}`, (stored) =>
    codec.decode(stored, { tenantId, runId, kind }),
  );
  return JSON.stringify({ outcome, runId, body: JSON.parse(body) as unknown });
}

/** What a delegated job ended with. */
async function decodeReport(
  ended: { readonly report?: string | null; readonly digest?: string | null },
  { tenantId, runId }: Pick<ClaimedRun, "tenantId" | "runId">,
  codec: Codec,
): Promise<string> {
  const { report, digest, ...rest } = ended as typeof ended & { readonly outcome: string };
  const text = await verified(report ?? "", digest ?? null, "the report of a job", (stored) =>
    codec.decode(stored, { tenantId, runId, kind: "report" }),
  );
  return JSON.stringify({ ...rest, [rest.outcome === "FAILED" ? "error" : "result"]: JSON.parse(text) });
}

/** No text and no digest is `undefined`; no text with a digest is a body that is gone. */
function emptied(entry: StoredEntry): null {
  if (entry.resultDigest !== null)
    throw new DisagreementError(`the result of journal entry ${entry.ordinal} is gone`);
  return null;
}

/**
 * Compares a journal with the checkpoint that the hop before left, and answers how many entries that had.
 * @throws DisagreementError for a checkpoint that is missing, of another workflow, or not a prefix of the journal
 */
export function verifyCheckpoint(
  claim: Pick<ClaimedRun, "checkpointGeneration" | "workflow" | "journalStart">,
  checkpoint: Checkpoint | null,
  journal: readonly JournalItem[],
): number {
  const name = `checkpoint ${claim.checkpointGeneration}`;
  if (checkpoint === null) throw new DisagreementError(`${name} is missing`);
  if (checkpoint.workflowDigest !== claim.workflow.digest)
    throw new DisagreementError(`${name} is of another workflow digest`);
  const length = checkpoint.journalLength - claim.journalStart;
  if (checkpoint.journalDigest !== journalDigest(journal.slice(0, length))) {
    throw new DisagreementError(`${name} disagrees with the journal`);
  }
  return length;
}
