import { setTimeout as delay } from "node:timers/promises";
import { describeCall, describeFailure, identityCodec, type AnyWorkflow, type Logger } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { Hop } from "./hop.ts";
import type { HopEnd } from "./hop-end.ts";
import { loadJournal } from "./loaded-journal.ts";
import { isMaterial, loadMaterial } from "./material.ts";
import type { Rehearsal } from "./rehearsal.ts";
import { settlementOf } from "./settle.ts";

/** A hop whose end is committed. */
export interface EndedHop {
  readonly claim: ClaimedRun;
  readonly workflow: AnyWorkflow;
  readonly end: HopEnd;
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
      error: describeFailure(error).message.slice(0, 200),
    });
  }
}

/** Code that asks for the time has to be given another one than the hop had. */
async function untilLater({ clock }: Pick<ExecutionDeps, "clock">): Promise<void> {
  const ended = clock.wallMs();
  while (clock.wallMs() <= ended) await delay(1);
}

async function differenceOf(
  { claim, workflow, end, journalLength }: EndedHop,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<string | undefined> {
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
  const quiet = { ...deps, log: silent, logFor: () => silent };
  const hop = new Hop(known, workflow, { ...material, journal }, quiet, {
    ...invocation,
    remainingMs: () => invocation.limitMs,
  });
  const rehearsal = await hop.rehearse(material.input, isOfCode(end));
  const { missed } = rehearsal;
  if (missed === undefined) return differenceOfEnds(claim, workflow, end, rehearsal);
  const what = missed.asked.length === 0 ? "not asked for" : missed.asked.join(", ").slice(0, 500);
  return `call ${missed.entry.ordinal} is ${what} where the run had ${describeCall(missed.entry)}`;
}

async function differenceOfEnds(
  claim: ClaimedRun,
  workflow: AnyWorkflow,
  end: HopEnd,
  { end: replayed, open }: Rehearsal,
): Promise<string | undefined> {
  const again = replayed !== undefined && isOfCode(replayed) ? replayed : undefined;
  if (end.kind !== "returned" && end.kind !== "failed") {
    return again === undefined ? undefined : `it ${inWords(again)} where the run went on`;
  }
  // What the engine has refused is no word of the code.
  if (!isOfCode(end)) return undefined;
  if (again === undefined) {
    const next = open.map(describeCall).join(", ").slice(0, 500);
    if (next !== "") return `it asks for ${next} where the run ${inWords(end)}`;
    return `it does not come to its end, where the run ${inWords(end)}: it waits for something outside of steps`;
  }
  const [was, is] = await Promise.all([endOf(claim, workflow, end), endOf(claim, workflow, again)]);
  if (was === is) return undefined;
  if (end.kind === "returned" && again.kind === "returned")
    return "it returns something else than in the run";
  return `it ${inWords(again)} where the run ${inWords(end)}`;
}

type EndOfCode = Extract<HopEnd, { kind: "returned" | "failed" }>;

/** Whether it is the code that has come to this end by itself. */
function isOfCode(end: HopEnd): end is EndOfCode {
  if (end.kind === "returned") return true;
  return (
    end.kind === "failed" && (end.failure.code === "workflow_failed" || end.failure.code === "step_failed")
  );
}

function inWords(end: EndOfCode): string {
  if (end.kind === "returned") return "returned";
  return `failed (${end.failure.name}: ${end.failure.message.slice(0, 200)})`;
}

/** What is the same of two ends that are the same: the digest of an output, or a failure without its stack. */
async function endOf(claim: ClaimedRun, workflow: AnyWorkflow, end: EndOfCode): Promise<string> {
  if (end.kind === "failed") {
    const { code, name, message, step } = end.failure;
    return JSON.stringify([code, name, message, step ?? null]);
  }
  // Before the codec, which may write the same in many ways.
  const settlement = await settlementOf(claim, workflow, end, { codec: identityCodec });
  return settlement.status === "DONE"
    ? `DONE ${settlement.outputDigest}`
    : `FAILED ${settlement.errorDigest}`;
}

/** What a replay says again was said before. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
