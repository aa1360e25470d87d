import { attentionText, callKey, errorInLog, noLiveStream } from "@ghouls/core";
import type { ClaimedRun, ContainmentItem } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import type { Holdings } from "./holdings.ts";
import { Hop } from "./hop.ts";
import { askForAPerson } from "./live-step.ts";
import { isMaterial, loadMaterial } from "./material.ts";
import { pinnedCode } from "./pinned.ts";
import { CodecError, DisagreementError, type LoadedEntry } from "./loaded-journal.ts";
import { probe } from "./once-step.ts";
import type { Reins } from "./reins.ts";
import { UNKNOWN, undo, type Known } from "./undoing.ts";

/**
 * Carries a contain delivery: asks the probes of an ending run's effects, then calls the undos of its steps, by a replay that
 * starts nothing. The run's status is left alone; the containment pass ends the run when every item is acknowledged. The
 * authority is not asked: what has happened must be found out, and undone, whoever's key is revoked by now.
 */
export async function carryContain(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
  reins: Reins,
  holdings: Holdings,
): Promise<Carried> {
  const abort = new AbortController();
  // A drain stops probes, which may be asked again, and lets the undo that is under way end.
  const undoAbort = new AbortController();
  let [fenced, draining] = [false, false];
  const stop = () => abort.abort(new DOMException("the containment does not go on here", "AbortError"));
  reins.onHop({
    fence: () => {
      fenced = true;
      holdings.fence();
      stop();
      undoAbort.abort(new DOMException("the claim is gone", "AbortError"));
    },
    drain: () => {
      draining = true;
      holdings.drain();
      stop();
    },
  });
  try {
    const all = await deps.ledger.items.ofRun(claim);
    const keyOf = (item: ContainmentItem) => sameKey(item.key);
    const undoKeys = new Set(all.filter(({ kind }) => kind === "undo").map(keyOf));
    const items = all.filter(({ acknowledgedAt }) => acknowledgedAt === null);
    const open = items.filter(({ kind }) => kind === "effect");
    const pinned = await pinnedCode(claim, deps);
    if (!("workflow" in pinned)) {
      const why =
        "absent" in pinned ? "it has come to a build without the run's workflow" : pinned.unreachable;
      deps.logFor(claim).warn("a contain delivery has come to a worker without the run's code", {
        workflow: claim.workflow.name,
        version: claim.workflow.version,
        digest: claim.workflow.digest,
        why,
      });
      return await finish(claim, "refused", deps, why);
    }
    const loaded = await loadMaterial(claim, pinned.workflow, deps);
    if (!isMaterial(loaded)) return await finish(claim, "refused", deps);
    const withheld = await holdings.take(pinned.workflow);
    if (withheld !== undefined) {
      if (fenced) return { kind: "fenced" };
      const why = "why" in withheld ? withheld.why : "the process is about to end";
      deps.logFor(claim).warn("a contain delivery cannot have what it is to hold", {
        why: ("inLog" in withheld ? withheld.inLog : undefined) ?? why,
      });
      return await finish(claim, "refused", deps, why);
    }
    const hop = new Hop(
      claim,
      pinned.workflow,
      loaded,
      { ...pinned.deps, live: noLiveStream },
      invocation,
      holdings,
    );
    const undos = items.filter(({ kind }) => kind === "undo").map(keyOf);
    const code = await hop.ending(loaded.input, { open: open.map(keyOf), undo: undos });
    if (code === undefined)
      return await finish(claim, "refused", deps, "this code is not what the run's journal is of");
    const known = knownFrom(loaded.journal);
    const answered = await Promise.all(
      open.map((item) => {
        const key = keyOf(item);
        const effect = {
          item,
          call: code.openByKey(key),
          isUndone: undoKeys.has(key),
          happened: (result: unknown) => known.set(key, { outcome: "happened", result }),
        };
        return settleEffect(claim, effect, abort.signal, deps);
      }),
    );
    if (fenced) return { kind: "fenced" };
    if (!answered.every(Boolean)) return await finish(claim, "failed", deps);
    const undone = await undo({
      claim,
      deps,
      invocation,
      hop,
      undoable: (item) => code.undoable(keyOf(item)),
      known: (item) => known.get(keyOf(item)) ?? UNKNOWN,
      signal: undoAbort.signal,
      stops: () => draining,
    });
    if (fenced || undone.kind === "fenced") return { kind: "fenced" };
    return undone.kind === "none"
      ? await finish(claim, "failed", deps, undone.why)
      : await finish(claim, "done", deps);
  } catch (error) {
    if (!(error instanceof DisagreementError) && !(error instanceof CodecError)) throw error;
    deps.logFor(claim).error("a contain delivery could not be begun", { error: errorInLog(error) });
    return finish(claim, "refused", deps);
  }
}

/** What the journal says of each step, by its key. */
function knownFrom(journal: readonly LoadedEntry[]): Map<string, Known> {
  return new Map(
    journal.map((entry) => {
      const isDone = entry.outcome === "ok";
      const result: unknown = isDone && entry.text !== null ? JSON.parse(entry.text) : undefined;
      return [callKey(entry), { outcome: isDone ? "happened" : "failed", result }];
    }),
  );
}

/** The ledger writes the same JSON with other white space. */
function sameKey(key: string): string {
  return JSON.stringify(JSON.parse(key));
}

interface UnknownEffect {
  readonly item: ContainmentItem;
  readonly call: OpenCall | undefined;
  /** Whether its step is to be undone, too. */
  readonly isUndone: boolean;
  readonly happened: (result: unknown) => void;
}

/** Whether the probe could tell what became of an effect, or its undo will see to it. */
async function settleEffect(
  claim: ClaimedRun,
  { item, call, isUndone, happened }: UnknownEffect,
  hopSignal: AbortSignal,
  deps: ExecutionDeps,
): Promise<boolean> {
  if (call?.step === undefined) return false;
  const say = async (words: string, by: "probe" | "undo", effect?: "happened" | "cannot_happen") => {
    const told = { kind: "effect", key: item.key, by, words, under: claim } as const;
    const said = await deps.ledger.items.acknowledge(claim, { ...told, ...(effect && { effect }) });
    return said !== null;
  };
  const covered = async () =>
    isUndone && (await say("nobody knows; its undo is called whether it has happened or not", "undo"));
  if (call.step.probe === undefined) return covered();
  const log = deps.logFor(claim);
  const answer = await probe(call.step.probe, {
    call: call.id,
    claim,
    options: call.step,
    log,
    hopSignal,
    overdueAfterMs: deps.settings.overdueAfterMs,
    onOverdue: () =>
      askForAPerson(
        {
          call: call.id,
          claim,
          log,
        },
        deps,
      ),
  });
  if (typeof answer === "string" || answer.outcome === "unknown") {
    log.warn("an effect of an ending run is still unknown", {
      step: call.id.name,
      reason: typeof answer === "string" ? answer : "unknown",
    });
    return covered();
  }
  if (answer.outcome === "cannot_happen")
    return say("it has not happened, and cannot any more", "probe", answer.outcome);
  happened(answer.result);
  return say("it has happened", "probe", answer.outcome);
}

async function finish(
  claim: ClaimedRun,
  outcome: "done" | "failed" | "refused",
  deps: ExecutionDeps,
  why = "an effect is still unknown",
): Promise<Carried> {
  const { settled, ended } = await deps.ledger.deliveries.settleContainIfClaimed(claim, outcome);
  if (!settled) return { kind: "fenced" };
  if (ended !== null) return { kind: "contained", outcome, ended: true };
  if (outcome !== "done") {
    await deps.ledger.runs.raiseAttention(claim, attentionText(`containment ${outcome}`, why));
  }
  const looked = await deps.ledger.items.containSooner(claim, deps.settings.maxContainDeliveries);
  return { kind: "contained", outcome, ended: looked.ended !== null };
}
