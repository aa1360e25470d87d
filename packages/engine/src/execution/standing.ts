import { canonicalText, describeFailure, sha256 } from "@ghouls/core";
import type { ClaimedRun, NewConsent, Standing } from "@ghouls/ledger";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps } from "./deps.ts";
import { CodecError } from "./loaded-journal.ts";
import { contentOf } from "./takeover.ts";
import type { ConsentRequest } from "./wait-options.ts";

/** What a run is to stand in. The frozen requests have passed the codec before a transaction begins: it may be slow. */
export function standingOf(
  claim: ClaimedRun,
  calls: readonly OpenCall[],
  deps: Pick<ExecutionDeps, "codec" | "ids">,
): Promise<Standing[]> {
  return Promise.all(
    calls.flatMap(({ id, wait }) => {
      if (wait === undefined) return [];
      const arm = {
        call: id,
        armId: deps.ids.next(),
        owner: wait.owner,
        dueAt: wait.dueAt,
        tries: wait.tries,
      };
      const { consent } = wait;
      if (consent === undefined) return [Promise.resolve(arm)];
      return [frozen(claim, consent, deps).then((request) => ({ ...arm, consent: request }))];
    }),
  );
}

/** What a decider is shown, and its digest, which decides whether a decision means it. */
async function frozen(
  claim: ClaimedRun,
  request: ConsentRequest,
  { codec, ids }: Pick<ExecutionDeps, "codec" | "ids">,
): Promise<NewConsent> {
  const { title, deciders, quorum, expiresMs, onExpiry, requesterMayDecide, source } = request;
  const canonical = canonicalText({ runId: claim.runId, workflow: claim.workflow, ...contentOf(request) });
  const { tenantId, runId } = claim;
  const [requestText, requestDigest] = await encoded(`the consent "${title}"`, async () => [
    await codec.encode(canonical, { tenantId, runId, kind: "consent" }),
    codec.digest === undefined ? sha256(canonical) : await codec.digest(canonical),
  ]);
  return {
    consentId: ids.next(),
    title,
    requestText,
    storedDigest: sha256(requestText),
    requestDigest,
    deciders,
    quorum,
    requesterMayDecide,
    onExpiry,
    expiresInSeconds: expiresMs === null ? null : expiresMs / 1_000,
    source,
  };
}

/** What a codec cannot do just now it may do later: nothing of the run has failed. */
export async function encoded<T>(what: string, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    throw new CodecError(`${what}: ${describeFailure(error).message.slice(0, 200)}`);
  }
}
