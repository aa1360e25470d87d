import { setTimeout as delay } from "node:timers/promises";
import {
  callKey,
  describeCall,
  describeFailure,
  identityCodec,
  noLiveStream,
  serialize,
  type AnyWorkflow,
  type CallId,
  type Logger,
  errorInLog,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Held } from "./holdings.ts";
import { Hop } from "./hop.ts";
import { handsOver, type HopEnd } from "./hop-end.ts";
import { loadJournal } from "./loaded-journal.ts";
import { isMaterial, loadMaterial } from "./material.ts";
import type { Rehearsal, Unanswered } from "./rehearsal.ts";
import { settlementOf } from "./settle.ts";

/** A hop whose end is committed. */
export interface EndedHop {
  readonly claim: ClaimedRun;
  readonly workflow: AnyWorkflow;
  readonly end: HopEnd;
  readonly unanswered: Unanswered;
  /** Not given back before the check is over: code outside of steps may look at it. */
  readonly held: Held;
  /** Of the journal as it left it. */
  readonly journalLength: number;
}

const FIX =
  "Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";

/**
 * Replays what a hop has left from the start, while its author looks on, and names the first difference: a real replay
 * may come weeks later, and would fail the run there. The same code replays as in a hop; no step starts, nothing is
 * written, and the run stays as it is. Never rejects.
 */
export async function checkReplay(hop: EndedHop, deps: ExecutionDeps, invocation: Invocation): Promise<void> {
  const { claim, workflow } = hop;
  const log = deps.logFor(claim);
  try {
    await deps.faults("worker.before-replay-check", claim.runId);
    await untilLater(deps);
    const difference = await differenceOf(hop, deps, invocation);
    if (difference !== undefined) {
      const { name, version } = workflow;
      log.warn(`${name}: on replay, ${difference}`, { check: "replay", workflow: name, version, fix: FIX });
    }
    await deps.faults("worker.after-replay-check", claim.runId);
  } catch (error) {
    log.warn("a hop could not be replayed for the check", {
      error: errorInLog(error),
    });
  }
}

/** Code that asks for the time has to be given another one than the hop had. */
async function untilLater({ clock }: Pick<ExecutionDeps, "clock">): Promise<void> {
  const ended = clock.wallMs();
  while (clock.wallMs() <= ended) await delay(1);
}

async function differenceOf(
  ended: EndedHop,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<string | undefined> {
  const { claim, workflow, end, unanswered, journalLength } = ended;
  // That a replay has missed the journal already is the very end of the run, and its code may have been changed on purpose.
  if (end.kind === "failed" && end.failure.code === "journal_mismatch") return undefined;
  const known = { ...claim, journalLength: claim.journalStart + journalLength };
  // A hop that came after may have added to it.
  const stored = journalLength === 0 ? [] : await deps.ledger.journal.read(claim, claim.journalStart);
  const journal = await loadJournal(known, stored.slice(0, journalLength), deps.codec);
  // The input is made anew, because the workflow may have changed the one that it got; nothing else is read for that.
  const material = await loadMaterial(
    { ...claim, journalLength: claim.journalStart, checkpointGeneration: null, seq: 1 },
    workflow,
    deps,
  );
  if (!isMaterial(material)) return undefined;
  const quiet = { ...deps, log: silent, logFor: () => silent, live: noLiveStream };
  const unhurried = { ...invocation, remainingMs: () => invocation.limitMs };
  const hop = new Hop(known, workflow, { ...material, journal }, quiet, unhurried, ended.held);
  const rehearsal = await hop.rehearse(material.input, isOfCode(end) ? "its end" : unanswered.calls);
  const { missed } = rehearsal;
  if (missed === undefined) return differenceOfEnds(ended, rehearsal);
  const what = missed.asked.length === 0 ? "not asked for" : missed.asked.join(", ").slice(0, 500);
  return `call ${missed.entry.ordinal} is ${what} where the run had ${describeCall(missed.entry)}`;
}

async function differenceOfEnds(
  { claim, workflow, end, unanswered }: EndedHop,
  { end: replayed, open }: Rehearsal,
): Promise<string | undefined> {
  const again = replayed !== undefined && isOfCode(replayed) ? replayed : undefined;
  if (end.kind === "parked" || handsOver(end)) return differenceOfCalls(unanswered, again, open);
  // What the engine has refused is no word of the code.
  if (!isOfCode(end)) return undefined;
  if (again === undefined) {
    const next = inList(open);
    if (next !== "") return `it asks for ${next} where the run ${inWords(end)}`;
    return `it does not come to its end, where the run ${inWords(end)}: it waits for something outside of steps`;
  }
  const [was, is] = await Promise.all([endOf(claim, workflow, end), endOf(claim, workflow, again)]);
  if (was === is) return undefined;
  if (again.kind !== end.kind || end.kind === "failed")
    return `it ${inWords(again)} where the run ${inWords(end)}`;
  return end.kind === "returned"
    ? "it returns something else than in the run"
    : "it continues as new with another input than in the run";
}

/**
 * Of a run that goes on: whatever it stands in has to be asked for again. What is asked for beside that is not spoken of,
 * because code that waits for something outside of steps may have come further by now.
 */
function differenceOfCalls(
  { calls, more }: Unanswered,
  again: EndOfCode | undefined,
  open: readonly CallId[],
): string | undefined {
  const asked = new Set(open.map(callKey));
  const missing = calls.find((call) => !asked.has(callKey(call)));
  if (missing === undefined && !(more && again !== undefined)) return undefined;
  const was = missing === undefined ? "went on" : `asked for ${describeCall(missing)}`;
  const is = again === undefined ? `asks for ${inList(open) || "nothing"}` : inWords(again);
  return `it ${is} where the run ${was}`;
}

function inList(calls: readonly CallId[]): string {
  return calls.map(describeCall).join(", ").slice(0, 500);
}

type EndOfCode = Extract<HopEnd, { kind: "returned" | "failed" | "restarted" }>;

/** Whether it is the code that has come to this end by itself. */
function isOfCode(end: HopEnd): end is EndOfCode {
  if (end.kind === "returned" || end.kind === "restarted") return true;
  return (
    end.kind === "failed" && (end.failure.code === "workflow_failed" || end.failure.code === "step_failed")
  );
}

function inWords(end: EndOfCode): string {
  if (end.kind === "returned") return "returned";
  if (end.kind === "restarted") return "continued as new";
  return `failed (${end.failure.name}: ${end.failure.message.slice(0, 200)})`;
}

/** What is the same of two ends that are the same: an output, a new input, or a failure without its stack. */
async function endOf(claim: ClaimedRun, workflow: AnyWorkflow, end: EndOfCode): Promise<string> {
  if (end.kind === "failed") {
    const { code, name, message, step } = end.failure;
    return JSON.stringify([code, name, message, step ?? null]);
  }
  if (end.kind === "restarted") return newInputOf(end.input);
  // Before the codec, which may write the same in many ways.
  const settlement = await settlementOf(claim, workflow, end, { codec: identityCodec });
  return settlement.status === "DONE"
    ? `DONE ${settlement.outputDigest}`
    : `FAILED ${settlement.errorDigest}`;
}

function newInputOf(input: unknown): string {
  try {
    return serialize(input) ?? "null";
  } catch (error) {
    // The run has failed by that.
    return describeFailure(error).message;
  }
}

/** What a replay says again was said before. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
