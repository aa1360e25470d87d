export { readRunsByKey, readRunsById } from "./admission/admissions.ts";
export type { AdmittedRun, AdmitSettings, NewRun, Start } from "./admission/admissions.ts";
export { executorOn, inCallersTransaction, type CallerConnection } from "./admission/caller.ts";
export type { ClaimedRun, ClaimRequest, ClaimSettings } from "./hops/claims.ts";
export type { StepCopy } from "./evidence/copies.ts";
export { RULES as END_ACT_RULES, type DueEndAct, type EndAct } from "./evidence/end-acts.ts";
export type { Emptied, DueRetention, RetentionAges } from "./evidence/retention.ts";
export { END_OF_SAID, type EmittedCopy, type SaidPlace } from "./evidence/emitted.ts";
export type { ShownBody, ShownCopy, ShownRecord, ShownRejected } from "./evidence/shown.ts";
export { EVIDENCE_CHECKS } from "./evidence/seal-checks.ts";
export { RECORDS_OF_SEAL, type DueSeal, type Seal } from "./evidence/seals.ts";
export type { EvidenceReport } from "./evidence/verification.ts";
export type { FoundFault } from "./integrity/faults.ts";
export type { AttemptChange, Changed, KeptReport } from "./attempts/answers.ts";
export type { Attempt, AttemptKey, ListedAttempt } from "./attempts/attempt.ts";
export type { ConnectionOptions, ConnectionSource } from "./connection/connections.ts";
export type { DatabaseOptions, Executor, Row } from "./connection/database.ts";
export type { CancelAnswer } from "./containment/cancellations.ts";
export type { RunKey } from "./containment/endings.ts";
export type { CountFilter, PinnedRuns, RunCounts } from "./run-counts.ts";
export type { DecideAnswer, ListedConsent, StoredConsent, StoredDecision } from "./waits/consents.ts";
export type { OverdueRun } from "./waits/deadlines.ts";
export type { Checkpoint, NextDelivery } from "./hops/handovers.ts";
export type { ExpiredHold } from "./admission/holds.ts";
export type { OpenIntent } from "./hops/intents.ts";
export type { StepToUndo } from "./hops/undos.ts";
export type { Acknowledgement } from "./containment/acknowledgements.ts";
export type { ContainmentItem, DueContainment, ItemKind } from "./containment/items.ts";
export type { DueLook } from "./sql/due.ts";
export type { PassPage, Position } from "./sql/keyset.ts";
export type { DegradedTurn, FailedOwner } from "./reconciler/degraded.ts";
export type { DegradedOwner, DegradedPage, KeptRepair, PassState } from "./reconciler/reads.ts";
export type { Repair, RepairNote } from "./reconciler/repairs.ts";
export type { PassNote, Round, StandingPass } from "./reconciler/rounds.ts";
export type { NewestPosition } from "./sql/newest.ts";
export type { SkippedDelivery, SkipRow } from "./hops/skips.ts";
export type { JudgedLoss, LapsedClaim } from "./hops/losses.ts";
export type { WorkerEndAnswer } from "./hops/worker-ends.ts";
export { DOCTOR_CHECKS, type DoctorCheck } from "./schema/doctor.ts";
export type { FaultAnswer } from "./integrity/acknowledgements.ts";
export type { JudgeOptions } from "./integrity/judgement.ts";
export type { FaultFilter, FaultPosition } from "./integrity/pages.ts";
export type { GrantRow, NewGrant } from "./grants.ts";
export { DRIVERS, type Answer, type DriverName } from "./connection/drivers/driver.ts";
export { LedgerError, sqlStateOf, type LedgerFaultKind } from "./connection/errors.ts";
export type { EntryOfCall, NewEntry, OutlinedEntry, StoredEntry } from "./hops/journal.ts";
export type { EntryCommit, UserTransaction } from "./hops/transactions.ts";
export type { ApiKey, NewKey, StoredKey } from "./keys.ts";
export { openLedger, type BeforeOpening, type Ledger, type LedgerOptions } from "./ledger.ts";
export {
  DEFAULT_APPLICATION_ROLE,
  migrate,
  migrationSql,
  type MigrateOptions,
  type MigrateResult,
} from "./schema/migrate.ts";
export type { Reservation } from "./reservations/reads.ts";
export type { Ask, Journaled, TakeAnswer } from "./reservations/takes.ts";
export type { OpenArm, StoredRetry } from "./waits/arms.ts";
export type { NewAttempt, NewConsent } from "./waits/owners.ts";
export type { ParkAnswer, Standing } from "./waits/parks.ts";
export type { ClearAnswer } from "./containment/clears.ts";
export type { NewPause } from "./pauses/pauses.ts";
export type { RunPauseAnswer, RunUnpauseAnswer } from "./pauses/run-pauses.ts";
export {
  REDRIVE_REFUSALS,
  type RedriveRefusal,
  type Refused,
  type RedrivenBefore,
} from "./redrives/judgement.ts";
export type { NewRedrive, RedriveAnswer, Redriven } from "./redrives/redrives.ts";
export type { MatchingFilter, MatchingRun } from "./matching.ts";
export type { StrandedRun } from "./pinned.ts";
export type { RepinAnswer } from "./repins.ts";
export type { ChildEnd } from "./children/ends.ts";
export type { DuePublication } from "./hops/publications.ts";
export type { DeliveryRow, Progress, StoredRun } from "./reads.ts";
export type { RunPageFilter } from "./run-pages.ts";
export type { NewRelease, RecordedRelease } from "./releases/releases.ts";
export { createRoles, rolesSql, type RoleOptions } from "./schema/roles.ts";
export type { Health } from "./next-look.ts";
export type { TraceOrigins } from "./hops/traces.ts";
export type { DueArm, Resumption } from "./waits/resumptions.ts";
export type { Settlement, SettleAnswer } from "./hops/settlements.ts";
export { MAX_BUFFERED_SIGNALS, type NewSignal, type SignalAnswer } from "./waits/signals.ts";
export { DEFAULT_SCHEMA } from "./sql/statement.ts";
