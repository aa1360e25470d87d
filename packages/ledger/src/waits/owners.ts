import type { Claim, OnExpiry, ServiceTraits } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { writeStatement } from "../sql/statement.ts";

/** The frozen request of a consent. `requestText` has passed the codec. */
export interface NewConsent {
  readonly consentId: string;
  readonly title: string;
  readonly requestText: string;
  readonly storedDigest: string;
  readonly requestDigest: string;
  readonly deciders: readonly string[];
  readonly quorum: number;
  readonly requesterMayDecide: boolean;
  readonly onExpiry: OnExpiry;
  readonly expiresInSeconds: number | null;
  readonly source: string | null;
}

/** The frozen request of a delegated job. `requestText` has passed the codec. */
export interface NewAttempt {
  readonly attemptId: string;
  readonly service: string;
  readonly adapter: string;
  readonly adapterVersion: string;
  readonly serviceDigest: string;
  readonly traits: ServiceTraits;
  readonly requestText: string;
  readonly storedDigest: string;
  readonly requestDigest: string;
  readonly idempotencyKey: string;
  readonly pollSeconds: number | null;
  readonly heartbeatSeconds: number | null;
  readonly deadlineSeconds: number | null;
}

const OPEN_CONSENT = writeStatement(
  "consents.open",
  `
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`,
);

/** Whoever parks sends it next; somebody else looks after that once they had the time to. */
const OPEN_ATTEMPT = writeStatement(
  "attempts.open",
  `
insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
  service_digest, lookup, submit, cancel, delay_seconds, poll_seconds, heartbeat_seconds, request_text, stored_digest,
  request_digest, idempotency_key, deadline_at, next_look_at, created_at, remembers_seconds)
select a.tenant_id, a.run_id, $4, a.arm_id, json_build_array(a.epoch, a.scope, a.kind, a.name, a.nth)::text, 'DEFINED', $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, a.created_at + $19::double precision * interval '1 second',
  a.created_at + $20::double precision * interval '1 second', a.created_at, $21::double precision
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning attempt_id`,
);

/** The owner of an arm that this very transaction has opened. */
export async function openOwner(
  executor: Executor,
  claim: Claim,
  {
    armId,
    consent,
    attempt,
  }: { readonly armId: string; readonly consent?: NewConsent; readonly attempt?: NewAttempt },
  settings: { readonly publisherGraceSeconds: number },
): Promise<void> {
  if (consent !== undefined) await openConsent(executor, claim, armId, consent);
  if (attempt !== undefined)
    await openAttempt(executor, claim, armId, attempt, settings.publisherGraceSeconds);
}

async function openConsent(
  executor: Executor,
  claim: Claim,
  armId: string,
  consent: NewConsent,
): Promise<void> {
  await executor.run(OPEN_CONSENT, [
    claim.tenantId,
    claim.runId,
    armId,
    consent.consentId,
    consent.title,
    consent.requestText,
    consent.storedDigest,
    consent.requestDigest,
    consent.deciders,
    consent.quorum,
    consent.requesterMayDecide,
    consent.onExpiry,
    consent.source,
  ]);
}

async function openAttempt(
  executor: Executor,
  claim: Claim,
  armId: string,
  attempt: NewAttempt,
  graceSeconds: number,
): Promise<void> {
  const { traits } = attempt;
  await executor.run(OPEN_ATTEMPT, [
    claim.tenantId,
    claim.runId,
    armId,
    attempt.attemptId,
    attempt.service,
    attempt.adapter,
    attempt.adapterVersion,
    attempt.serviceDigest,
    traits.lookup,
    traits.submit,
    traits.cancel,
    traits.delaySeconds,
    attempt.pollSeconds,
    attempt.heartbeatSeconds,
    attempt.requestText,
    attempt.storedDigest,
    attempt.requestDigest,
    attempt.idempotencyKey,
    attempt.deadlineSeconds,
    graceSeconds,
    traits.remembersSeconds ?? null,
  ]);
}
