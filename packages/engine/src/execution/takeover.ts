import { callKey, canonicalText, describeCall, type CallId } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import { requestDigest } from "../admission/validate.ts";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { verified } from "./loaded-journal.ts";
import type { ChildRequest, ConsentRequest, JobRequest, Wait } from "./wait-options.ts";

/** What deciders are asked, without what identifies the run and its code: by it the code's request is compared. */
export function contentOf(request: ConsentRequest): Readonly<Record<string, unknown>> {
  const { title, deciders, quorum, expiresMs, onExpiry, requesterMayDecide, detail } = request;
  return {
    title,
    deciders,
    quorum,
    expiresMs,
    onExpiry,
    requesterMayDecide,
    detail: detail === undefined ? null : (JSON.parse(detail) as unknown),
  };
}

/** What another service is asked to do, and which: a changed payload or executor is another job. */
export function contentOfJob({ service, definition, requestText }: JobRequest): string {
  const { adapter, version } = definition;
  return canonicalText({ service, adapter, version, request: JSON.parse(requestText) as unknown });
}

/** The digest under which a call's request stands frozen, where the code asks for that very request; see each kind. */
export async function digestOfFrozen(
  claim: ClaimedRun,
  ownerId: string,
  wait: Wait | undefined,
  deps: Pick<ExecutionDeps, "ledger" | "codec">,
): Promise<string | undefined> {
  if (wait?.consent !== undefined) return digestOfSameRequest(claim, ownerId, wait.consent, deps);
  if (wait?.child !== undefined) return digestOfSameChild(claim, ownerId, wait.child, deps);
  return wait?.job === undefined ? undefined : digestOfSameJob(claim, ownerId, wait.job, deps);
}

/** What a child is to do. Where it queues, and what becomes of it, was decided when it was started. */
export function contentOfChild({ workflow, inputText }: ChildRequest): string {
  const { name, version } = workflow.definition;
  return canonicalText({ workflow: name, version, input: JSON.parse(inputText) as unknown });
}

/** The digest of a child that was started, where the code asks for that very run, whatever the codec's key was then. */
async function digestOfSameChild(
  { tenantId }: ClaimedRun,
  childRunId: string,
  child: ChildRequest,
  { ledger, codec }: Pick<ExecutionDeps, "ledger" | "codec">,
): Promise<string | undefined> {
  const stored = await ledger.runs.get({ tenantId, runId: childRunId });
  if (stored === null) return undefined;
  const digest = await requestDigest(codec, contentOfChild(child));
  if (stored.requestDigest === digest) return digest;
  if (stored.inputText === null) return undefined;
  const text = await verified(stored.inputText, stored.inputDigest, "a child's input", (kept) =>
    codec.decode(kept, { tenantId, runId: childRunId, kind: "input" }),
  );
  const { name, version } = child.workflow.definition;
  const same =
    stored.workflow.name === name && stored.workflow.version === version && text === child.inputText;
  return same ? stored.requestDigest : undefined;
}

/** The same of a delegated job. */
async function digestOfSameJob(
  claim: ClaimedRun,
  attemptId: string,
  job: JobRequest,
  { ledger, codec }: Pick<ExecutionDeps, "ledger" | "codec">,
): Promise<string | undefined> {
  const { tenantId, runId } = claim;
  const stored = await ledger.attempts.get({ tenantId, attemptId });
  if (stored === null) return undefined;
  const text = await verified(stored.requestText, stored.storedDigest, "a job's request", (kept) =>
    codec.decode(kept, { tenantId, runId, kind: "job" }),
  );
  const { adapter, version } = job.definition;
  const same =
    text === job.requestText &&
    (stored.service === job.service || job.among.includes(stored.service)) &&
    stored.adapter === adapter &&
    stored.adapterVersion === version;
  return same ? stored.requestDigest : undefined;
}

/**
 * The digest of a consent that stands open, where the code asks for that very request: the pin may have moved since it was
 * frozen, and the codec's key as well. Undefined where it asks for another.
 * @throws CodecError where the frozen request cannot be read just now, DisagreementError where it was altered
 */
async function digestOfSameRequest(
  claim: ClaimedRun,
  consentId: string,
  request: ConsentRequest,
  { ledger, codec }: Pick<ExecutionDeps, "ledger" | "codec">,
): Promise<string | undefined> {
  const { tenantId, runId } = claim;
  const stored = await ledger.consents.get({ tenantId, consentId });
  if (stored === null) return undefined;
  const text = await verified(stored.requestText, stored.storedDigest, "a consent's request", (kept) =>
    codec.decode(kept, { tenantId, runId, kind: "consent" }),
  );
  const asked = contentOf(request);
  const frozen = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const names = Object.keys(asked);
  const part = Object.fromEntries(names.map((name) => [name, frozen[name]]));
  return canonicalText(part) === canonicalText(asked) ? stored.requestDigest : undefined;
}

/** What earlier code left standing, besides the journal. */
export interface LeftStanding {
  readonly arms: readonly OpenArm[];
  readonly effects: Effects;
}

/** The calls that code must ask for again after its replay. A step that waited for a try may have ended since. */
export function callsOf({ arms, effects }: LeftStanding): readonly CallId[] {
  const waits = arms.flatMap(({ call }) => (call.kind === "step" ? [] : [call]));
  return [...waits, ...effects.open()];
}

/**
 * Why other code cannot take over what stands: it must ask for every wait that is open, with the same request, and treat an
 * effect whose outcome is unknown as one. Undefined where it does.
 */
export async function takeoverProblem(
  claim: ClaimedRun,
  left: LeftStanding,
  calls: readonly OpenCall[],
  deps: Pick<ExecutionDeps, "ledger" | "codec">,
): Promise<string | undefined> {
  const byKey = new Map(calls.map((call) => [call.key, call]));
  const missing = callsOf(left).find((call) => !byKey.has(callKey(call)));
  if (missing !== undefined) return `${describeCall(missing)} stands open, and the code does not ask for it`;
  const plain = left.effects.open().find((call) => byKey.get(callKey(call))?.step?.once !== true);
  if (plain !== undefined)
    return `nobody knows whether the effect of ${describeCall(plain)} has happened, and the code calls it as a plain step`;
  for (const { call, consentId, attemptId, childRunId } of left.arms) {
    const ownerId = consentId ?? attemptId ?? childRunId;
    if (ownerId === null) continue;
    if ((await digestOfFrozen(claim, ownerId, byKey.get(callKey(call))?.wait, deps)) === undefined)
      return `${describeCall(call)} was frozen with another request than the code asks for`;
  }
  return undefined;
}
