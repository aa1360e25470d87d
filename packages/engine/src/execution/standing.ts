import { canonicalText, sha256 } from "@ghouls/core";
import type { ClaimedRun, NewAttempt, NewConsent, Standing } from "@ghouls/ledger";
import { requestDigest } from "../admission/validate.ts";
import { digestOfService } from "../delegation/asked.ts";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps } from "./deps.ts";
import { encoded } from "./encoded.ts";
import { contentOf, contentOfJob } from "./takeover.ts";
import type { ConsentRequest, JobRequest } from "./wait-options.ts";

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
      const { consent, job } = wait;
      if (consent !== undefined)
        return [frozen(claim, consent, deps).then((request) => ({ ...arm, consent: request }))];
      if (job !== undefined)
        return [frozenJob(claim, id.name, job, deps).then((made) => ({ ...arm, attempt: made }))];
      return [Promise.resolve(arm)];
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
  const [requestText, digest] = await encoded(`the consent "${title}"`, async () => [
    await codec.encode(canonical, { tenantId, runId, kind: "consent" }),
    await requestDigest(codec, canonical),
  ]);
  return {
    consentId: ids.next(),
    title,
    requestText,
    storedDigest: sha256(requestText),
    requestDigest: digest,
    deciders,
    quorum,
    requesterMayDecide,
    onExpiry,
    expiresInSeconds: expiresMs === null ? null : expiresMs / 1_000,
    source,
  };
}

/** The attempt that a job is to be: exact request, executor and key, before anything is sent. */
async function frozenJob(
  claim: ClaimedRun,
  name: string,
  job: JobRequest,
  { codec, ids }: Pick<ExecutionDeps, "codec" | "ids">,
): Promise<NewAttempt> {
  const { service, definition, requestText: text, deadlineMs, heartbeatMs } = job;
  const { tenantId, runId } = claim;
  const [requestText, digest] = await encoded(`the job "${name}"`, async () => [
    await codec.encode(text, { tenantId, runId, kind: "job" }),
    await requestDigest(codec, contentOfJob(job)),
  ]);
  const attemptId = ids.next();
  const seconds = (milliseconds: number | null) => (milliseconds === null ? null : milliseconds / 1_000);
  return {
    attemptId,
    service,
    adapter: definition.adapter,
    adapterVersion: definition.version,
    serviceDigest: digestOfService(definition),
    traits: definition.traits,
    requestText,
    storedDigest: sha256(requestText),
    requestDigest: digest,
    idempotencyKey: `ghouls-${attemptId}`,
    pollSeconds: seconds(definition.times.pollMs),
    heartbeatSeconds: seconds(heartbeatMs),
    deadlineSeconds: seconds(deadlineMs),
  };
}
