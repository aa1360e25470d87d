import { callKey } from "@ghouls/core";
import type { ClaimedRun, ContainmentItem } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { Hop } from "./hop.ts";
import { askForAPerson } from "./live-step.ts";
import { isMaterial, loadMaterial } from "./material.ts";
import { probe } from "./once-step.ts";

/**
 * Carries a contain delivery: asks the probes of an ending run's effects, by a replay that starts nothing. The run's
 * status is left alone; the containment pass ends the run when every item is acknowledged.
 */
export async function carryContain(
  claim: ClaimedRun,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<Carried> {
  const open = (await deps.ledger.items.ofRun(claim)).filter(isOpenEffect);
  const loaded = await loadMaterial(claim, deps);
  if (!isMaterial(loaded)) return finish(claim, "refused", deps);
  const hop = new Hop(claim, loaded.workflow, loaded.journal, loaded.effects, deps, invocation);
  const calls = new Map((await hop.openCalls(loaded.input)).map((call) => [callKey(call.id), call]));
  const answered = await Promise.all(
    open.map((item) => settleEffect(claim, item, calls.get(sameKey(item.key)), deps)),
  );
  return finish(claim, answered.every(Boolean) ? "done" : "failed", deps);
}

/** The ledger writes the same JSON with other white space. */
function sameKey(key: string): string {
  return JSON.stringify(JSON.parse(key));
}

function isOpenEffect(item: ContainmentItem): boolean {
  return item.kind === "effect" && item.acknowledgedAt === null;
}

/** Whether the probe could tell what became of an effect. */
async function settleEffect(
  claim: ClaimedRun,
  item: ContainmentItem,
  call: OpenCall | undefined,
  deps: ExecutionDeps,
): Promise<boolean> {
  if (call?.options.probe === undefined) return false;
  const log = deps.logFor(claim);
  const answer = await probe(call.options.probe, {
    call: call.id,
    claim,
    options: call.options,
    log,
    hopSignal: new AbortController().signal,
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
    return false;
  }
  const words =
    answer.outcome === "happened" ? "it has happened" : "it has not happened, and cannot any more";
  await deps.ledger.items.acknowledge(claim, { kind: "effect", key: item.key, by: "probe", words });
  return true;
}

async function finish(
  claim: ClaimedRun,
  outcome: "done" | "failed" | "refused",
  deps: ExecutionDeps,
): Promise<Carried> {
  const settled = await deps.ledger.deliveries.settleContainIfClaimed(claim, outcome);
  if (!settled) return { kind: "fenced" };
  if (outcome !== "done")
    await deps.ledger.runs.raiseAttention(claim, `containment ${outcome}: an effect is still unknown`);
  await deps.ledger.items.contain(claim, deps.settings.maxContainDeliveries);
  return { kind: "contained", outcome };
}
