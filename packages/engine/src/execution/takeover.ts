import { callKey, canonicalText, describeCall, type CallId } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps } from "./deps.ts";
import type { Effects } from "./effects.ts";
import { verified } from "./loaded-journal.ts";
import type { ConsentRequest } from "./wait-options.ts";

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

/**
 * The digest of a consent that stands open, where the code asks for that very request: the pin may have moved since it was
 * frozen, and the codec's key as well. Undefined where it asks for another.
 * @throws CodecError where the frozen request cannot be read just now, DisagreementError where it was altered
 */
export async function digestOfSameRequest(
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
  for (const { call, consentId } of left.arms) {
    const consent = byKey.get(callKey(call))?.wait?.consent;
    if (consentId === null || consent === undefined) continue;
    if ((await digestOfSameRequest(claim, consentId, consent, deps)) === undefined)
      return `${describeCall(call)} was frozen with another request than the code asks for`;
  }
  return undefined;
}
