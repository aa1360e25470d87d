export { inSpan, type SpanStart } from "./tracing.ts";
export { Publisher } from "./admission/publisher.ts";
export {
  createAdmission,
  type Admission,
  type AdmissionOptions,
  type Receipt,
} from "./admission/admission.ts";
export type { Route, RouteAnswer, RouteRequest } from "./admission/validate.ts";
export {
  StillAskingError,
  createDirectEgress,
  type DirectEgressOptions,
} from "./delegation/direct-egress.ts";
export type { Delegation } from "./delegation/delegation.ts";
export { DEFAULT_EXECUTION_SETTINGS, type ExecutionDeps, type ExecutionSettings } from "./execution/deps.ts";
export { work, type MessageOutcome, type WorkMessage, type WorkOptions } from "./execution/worker.ts";
export { createAnnouncement, type AnnouncementOptions } from "./announcement.ts";
export { createAttempts, type AttemptsOptions } from "./attempts.ts";
export { createConsents, isConsentStatus, type ConsentsOptions } from "./consents.ts";
export { createControl, type ControlOptions } from "./control.ts";
export { blameHop } from "./execution/current-hop.ts";
export { createKeyAuthenticator, type KeyAuthenticatorOptions } from "./keys.ts";
export { createKeyAuthority, createLedgerGrants } from "./ledger-owners.ts";
export { endsWithin } from "./patience.ts";
export { LiveChannel, type LiveChannelOptions } from "./live/channel.ts";
export { createClosing, type CloseChannel } from "./live/closing.ts";
export { createEvents, type EventService } from "./live/events.ts";
export { Follower } from "./live/follower.ts";
export { createOpening } from "./live/opening.ts";
export { LiveRing, type LiveRingBounds } from "./live/ring.ts";
export { createIntegrity, faultView, type IntegrityOptions } from "./integrity.ts";
export { createPauses, pauseView, type PausesOptions } from "./pauses.ts";
export { createReads } from "./reads.ts";
export type { Outcome, Owner, Pass, Turn } from "./reconciler/pass.ts";
export { endingsPass } from "./reconciler/passes/endings.ts";
export { retentionPass } from "./reconciler/passes/retention.ts";
export { sealsPass } from "./reconciler/passes/seals.ts";
export { reconcile, type ReconcileOptions, type ReconcileReport } from "./reconciler/reconcile.ts";
export type { DeadLetterQueues } from "./reconciler/passes/dead-letters.ts";
export { createReconcilerService } from "./reconciler/service.ts";
export { createLowering, type LoweringOptions } from "./reconciler/lowering.ts";
export { reconcileWhenDue, type ReconcileWhenDueOptions, type Skipped } from "./reconciler/when-due.ts";
export { Registry } from "./registry.ts";
export { noReleases, type FoundRelease, type LoadedRelease, type Releases } from "./execution/releases.ts";
export type * from "./services.ts";
export { createSignals, type SignalsOptions } from "./signals.ts";
