import { describeFailure, type Logger } from "@ghouls/core";
import type { OpenCall } from "./calls.ts";
import type { FinishedCall, ToCommit } from "./in-flight.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { LastWord } from "./last-word.ts";
import type { NextTries } from "./next-tries.ts";
import type { Turn } from "./reserve-options.ts";
import { comeToRest } from "./rest.ts";

/** A result that is in the journal. */
export interface Kept {
  readonly outcome: "ok" | "error";
  /** JSON text; null for `undefined`. */
  readonly text: string | null;
  readonly tries: number;
  readonly completedAt: Date;
}

/** The hop whose calls were carried out. */
export interface Keeper {
  readonly word: LastWord;
  readonly writer: JournalWriter;
  readonly nextTries: NextTries;
  readonly log: Logger;
  /** The ledger's time, as far as this process can tell, in milliseconds. */
  ledgerNowMs(): number;
  resolve(call: OpenCall, kept: Kept): void;
  /** It is the turn of units that are asked for, or given back. */
  turn(call: OpenCall, turn: Turn): Promise<void>;
}

/** Journals what has finished under the fence, then lets the code go on with it. */
export async function keep({ call, end, tookMs }: FinishedCall, hop: Keeper): Promise<void> {
  const { word, writer, nextTries, log } = hop;
  if (end.outcome === "stops") return word.say(end.end);
  if (end.outcome === "abandoned" || end.outcome === "kept" || end.outcome === "stands") return;
  if (end.outcome === "commits") return commit(call, end, hop);
  if (end.outcome === "asks" || end.outcome === "releases") return hop.turn(call, end);
  if (end.outcome === "later")
    return nextTries.again(call, new Date(hop.ledgerNowMs() + end.delayMs), end.tries);
  if (!word.mayWrite) return reject(call, end, hop);
  const answer = await writer.write(call.id, end, tookMs);
  if (!answer.written) {
    if (answer.end.kind === "fenced") await writer.reject(call.id, end);
    return word.say(answer.end);
  }
  if (end.outcome === "error" && word.end?.kind === "returned") {
    log.warn("a step failed that the workflow did not wait for", { step: call.id.name });
  }
  const { outcome, tries } = end;
  hop.resolve(call, { outcome, text: answer.text ?? null, tries, completedAt: answer.completedAt });
  await comeToRest();
}

/** The same of a transaction, which is committed here, so that its code goes on in the order of the journal. */
async function commit(call: OpenCall, { commit: committed }: ToCommit, hop: Keeper): Promise<void> {
  const sealed = await committed(hop.word.mayWrite ? hop.writer : undefined);
  if (sealed.kind === "stops") return hop.word.say(sealed.end);
  if (sealed.kind !== "kept") return;
  const { text, tries, completedAt } = sealed;
  hop.resolve(call, { outcome: "ok", text: text ?? null, tries, completedAt });
  await comeToRest();
}

/** The result of a fenced worker is evidence, and nothing else. */
async function reject(
  call: OpenCall,
  end: Parameters<JournalWriter["reject"]>[1],
  { writer, log }: Keeper,
): Promise<void> {
  const failed = await writer.reject(call.id, end);
  const error = failed === undefined ? undefined : describeFailure(failed).message.slice(0, 200);
  const step = call.id.name;
  log.warn("a step ended after its claim was gone; its result is rejected evidence", { step, error });
}
