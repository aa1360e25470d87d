import {
  ENDING_RUN,
  GhoulsError,
  isRunId,
  isTerminalRun,
  type FaultInjector,
  type Ids,
  type Principal,
  type wire,
} from "@ghouls/core";
import type {
  AdmittedRun,
  Ledger,
  RecordedRelease,
  RedriveRefusal,
  RedrivenBefore,
  StoredRun,
} from "@ghouls/ledger";
import { announceOrRefuse } from "../announcement.ts";
import { pinOf, type Registry } from "../registry.ts";

export interface RedriveOptions {
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly announce: () => Promise<void>;
  readonly ids: Ids;
  readonly faults: FaultInjector;
  readonly publish: (run: AdmittedRun) => Promise<void>;
  readonly settings: { readonly publisherGraceSeconds: number };
}

/**
 * Makes a new run of one that has failed or was cancelled, with the journal up to the call that failed. It is pinned to the
 * newest code of this build that has the old digest or accepts it, so that a worker without the mended code leaves it alone;
 * where there is none, to its own digest, if a release has that code.
 */
export async function redrive(
  options: RedriveOptions,
  principal: Principal,
  runId: string,
  reason: string,
): Promise<wire.Redriven> {
  const { ledger, registry, announce, ids, faults, publish, settings } = options;
  const key = { tenantId: principal.tenantId, runId };
  const old = isRunId(runId) ? await ledger.runs.get(key) : null;
  if (old === null) throw absent();
  const carrier = registry.newestCarrier(old.workflow);
  // What was redriven is told first: nothing is carried by this call then.
  const carries = isTerminalRun(old.status) && old.redrivenAs === null;
  const release = carries && carrier === undefined ? await releaseOf(old, ledger) : undefined;
  if (carries && carrier === undefined && release === undefined) throw changed(old);
  await announceOrRefuse(announce);
  const newRunId = ids.next();
  const answer = await ledger.runs.redrive(
    key,
    {
      runId: newRunId,
      workflow: carrier === undefined ? old.workflow : pinOf(carrier),
      ...(carrier === undefined ? { release: old.workflow } : {}),
      onWorkerLoss: carrier?.definition.onWorkerLoss ?? release?.onWorkerLoss ?? "fail",
      deadlineMs: carrier?.definition.deadlineMs ?? release?.deadlineMs ?? null,
      requestedBy: principal.subject,
      requestedRoles: principal.roles,
      reason,
    },
    settings,
  );
  await faults("redrive.after-commit", runId);
  if (answer === null) throw absent();
  if (answer.kind === "release_gone") throw changed(old);
  if (answer.kind === "refused") throw refusal(runId, answer.why, answer.about);
  if (answer.kind === "redriven_before" && !answer.sameWord) throw redrivenBefore(runId, answer);
  const madeId = answer.kind === "redriven" ? newRunId : answer.runId;
  const [made] = await ledger.runs.byId([{ tenantId: principal.tenantId, runId: madeId }]);
  const view = await ledger.runs.get({ tenantId: principal.tenantId, runId: madeId });
  if (made === undefined || view === null) throw absent();
  await publish(made);
  return {
    runId: madeId,
    redriveOf: runId,
    created: answer.kind === "redriven",
    status: view.status,
    enqueueSeq: view.enqueueSeq,
    workflow: view.workflow,
    queue: view.queue,
    priority: view.priority,
    ...(answer.kind === "redriven"
      ? { kept: answer.cut.entries, from: answer.cut.call }
      : { kept: null, from: null }),
  };
}

/** The release that would carry it; undefined where that was given up, or there never was one. */
async function releaseOf(
  { workflow }: StoredRun,
  { releases }: Pick<Ledger, "releases">,
): Promise<RecordedRelease | undefined> {
  const found = await releases.ofPin(workflow);
  return found === null || found.removedAt !== null ? undefined : found;
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "there is no such run", { fix: "Check the run id." });
}

function notRedrivable(why: RedriveRefusal | "workflow_changed", message: string, fix: string): GhoulsError {
  return new GhoulsError("not_redrivable", message, { fix, issues: [{ path: `/${why}`, message }] });
}

function changed({ runId, workflow: { name, version, digest } }: StoredRun): GhoulsError {
  return notRedrivable(
    "workflow_changed",
    `run ${runId} is pinned to workflow "${name}" version ${version} with digest ${digest}, and neither code of this build nor a release carries it on`,
    `Deploy code that carries it on and says so: accepts: ["${digest}"].`,
  );
}

function redrivenBefore(runId: string, { runId: again, status }: RedrivenBefore): GhoulsError {
  const live = !isTerminalRun(status);
  const fix = live
    ? `Follow that one: \`ghouls watch ${again}\`. Cancel it first where it is not wanted.`
    : status === "DONE"
      ? "Its work is done; submit a new run for more."
      : `Redrive that one: \`ghouls redrive ${again}\`.`;
  return new GhoulsError(
    "redriven_before",
    `run ${runId} was redriven before, as ${again}, which is ${status}`,
    {
      fix,
    },
  );
}

const ANEW = "Submit it anew, once you have seen to what it did.";

function refusal(runId: string, why: RedriveRefusal, about: string | null): GhoulsError {
  const [message, fix] = WORDS[why](runId, about ?? "");
  return notRedrivable(why, message, fix);
}

/** Of a run that is neither FAILED nor CANCELLED. What is ending is cancelled by nobody. */
function fixOf(status: string): string {
  if (status === "DONE") return "Submit a new run.";
  return ENDING_RUN.some((ending) => ending === status)
    ? "Wait for its end; `ghouls show` tells whether it waits for a person."
    : "Wait for its end, or cancel it.";
}

const WORDS: Readonly<Record<RedriveRefusal, (runId: string, about: string) => [string, string]>> = {
  not_ended: (runId, status) => [
    `run ${runId} is ${status}: only one that is FAILED or CANCELLED is redriven`,
    fixOf(status),
  ],
  quarantined: (runId) => [
    `run ${runId} is quarantined: what the ledger has of it contradicts itself`,
    `Correct the cause, then \`ghouls clear ${runId}\`.`,
  ],
  child_run: (runId, parent) => [
    `run ${runId} is a child of ${parent}, which has its result`,
    `Redrive its parent: \`ghouls redrive ${parent}\` starts the child again.`,
  ],
  child_open: (_runId, child) => [
    `child ${child} has not ended`,
    `Wait for its end, or \`ghouls cancel ${child}\`.`,
  ],
  effect_unknown: (_runId, step) => [
    `of the effect of step "${step}" nobody knows whether it happened, but for a person's word`,
    ANEW,
  ],
  job_unknown: (_runId, job) => [
    `of the job "${job}" nobody knows how it ended, but for a person's word, or its service contradicts itself`,
    ANEW,
  ],
  undone: (_runId, step) => [
    `step "${step}" of it has been undone: its effects were taken back`,
    "Submit it anew.",
  ],
  body_gone: (runId, what) => [`of run ${runId} ${what} is gone, at least in part`, "Submit it anew."],
  done_behind: (_runId, call) => [
    `"${call}" was done for good at the call that failed or after it, or where the journal does not say so; it would be done again`,
    ANEW,
  ],
};
