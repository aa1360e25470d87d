import type { AnyWorkflow, WorkflowPin } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { pinOf, type Registry } from "../registry.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { DUE_AGAIN_MS, refusal, type HopEnd } from "./hop-end.ts";
import { ledgerNowMs } from "./live-step.ts";
import { DisagreementError, checkpointOf, type JournalItem } from "./loaded-journal.ts";

/** The code that carries a run. */
export interface Code {
  readonly workflow: AnyWorkflow;
  /** Where the run is pinned to earlier code: what it is pinned to once this code has replayed its journal. */
  readonly adopts: WorkflowPin | undefined;
  /** What a hop of it goes by: the workflows and services of a release are its own. */
  readonly deps: ExecutionDeps;
}

/** The same; or words for what this build has in its place; or why a release cannot be read now. */
export type Pinned = Code | { readonly absent: string } | { readonly unreachable: string };

/**
 * The code of a run: this build's, that very code or what accepts its digest; else the release that a deploy has left.
 * @throws DisagreementError for a release that is not what was recorded: nothing else takes its place
 */
export async function pinnedCode(claim: ClaimedRun, deps: ExecutionDeps): Promise<Pinned> {
  const pin = claim.workflow;
  const carrier = deps.registry.carrier(pin);
  if (carrier !== undefined) {
    const own = pinOf(carrier);
    return { workflow: carrier.definition, adopts: own.digest === pin.digest ? undefined : own, deps };
  }
  const found = await deps.releases.find(pin);
  switch (found.kind) {
    case "none":
      return { absent: absence(pin, deps.registry) };
    case "unreachable":
      return { unreachable: `the release of ${inWords(pin)} cannot be read: ${found.why}` };
    case "refused":
      throw new DisagreementError(`the release of ${inWords(pin)} is refused: ${found.why}`);
    case "loaded": {
      const { registry } = found.release;
      const definition = registry.find(pin)?.definition;
      if (definition === undefined) throw new TypeError(`a release has no ${inWords(pin)}`);
      const { name, version, digest } = pin;
      deps
        .logFor(claim)
        .info("the run goes on with the code of a release", { workflow: name, version, digest });
      const delegation = { ...deps.delegation, byExecutor: true };
      return { workflow: definition, adopts: undefined, deps: { ...deps, registry, delegation } };
    }
  }
}

function inWords({ name, version, digest }: WorkflowPin): string {
  return `workflow "${name}" version ${version} with digest ${digest}`;
}

function absence(pin: WorkflowPin, registry: Registry): string {
  const registered = registry.find(pin);
  const here =
    registered === undefined
      ? "this worker has none of that name and version"
      : `this worker has ${registered.digest}`;
  return `the run is pinned to ${inWords(pin)}; ${here}, and there is no release of it`;
}

/**
 * The end of a hop whose workflow this build does not have (design.md §3, Claim): while another build has it, its delivery
 * goes back, for at most the deploy overlap, by the ledger's time alone. After that, or where no build has it, the run fails.
 */
export async function endWithoutWorkflow(
  claim: ClaimedRun,
  absent: string,
  deps: ExecutionDeps,
  invocation: Invocation,
): Promise<HopEnd> {
  const build = await deps.ledger.workflows.buildOf(claim.workflow);
  const since = claim.workflowAbsentSince;
  const waitedMs = since === null ? 0 : claim.claimedAt.getTime() - since.getTime();
  if (build === null || waitedMs >= deps.settings.deployOverlapMs) {
    const known = build === null ? "no build is known to have it" : `build "${build}" is known to have it`;
    const waited =
      since === null
        ? "it was never given back"
        : `it was given back for ${Math.floor(waitedMs / 1_000)} s, since ${since.toISOString()}`;
    return refusal("workflow_changed", `${absent}; ${known}, and ${waited}`);
  }
  const { name, version, digest } = claim.workflow;
  deps.logFor(claim).warn("this build lacks the run's workflow; its delivery goes back for one that has it", {
    workflow: name,
    version,
    digest,
    build,
    waitedSeconds: Math.floor(waitedMs / 1_000),
  });
  return {
    kind: "given_back",
    dueAt: new Date(ledgerNowMs(claim, deps, invocation) + DUE_AGAIN_MS),
    why: "this build lacks its workflow",
    workflowAbsent: true,
  };
}

/**
 * Pins a run to the code that has replayed its journal without a difference, before anything of that code runs: a worker
 * of the earlier build, which could not replay what comes now, gives it back from here on. Answers how the hop ends where
 * the claim is gone.
 */
export async function adopt(
  claim: ClaimedRun,
  pin: WorkflowPin,
  journal: readonly JournalItem[],
  deps: ExecutionDeps,
): Promise<HopEnd | undefined> {
  const checkpoint = { ...checkpointOf(claim, journal), workflowDigest: pin.digest };
  await deps.faults("worker.before-adopt", claim.runId);
  if (!(await deps.ledger.runs.adoptIfClaimed(claim, pin, checkpoint))) return { kind: "fenced" };
  deps.logFor(claim).info("the run goes on with code that accepts its digest", {
    workflow: pin.name,
    version: pin.version,
    digest: pin.digest,
    before: claim.workflow.digest,
  });
  return undefined;
}
