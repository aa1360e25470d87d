export { readRunsByKey, readRunsById } from "./admissions.ts";
export type { AdmittedRun, AdmitSettings, NewRun } from "./admissions.ts";
export { executorOn, inCallersTransaction, type CallerConnection } from "./caller.ts";
export type { ClaimedRun, ClaimRequest, ClaimSettings } from "./claims.ts";
export type { ConnectionOptions, ConnectionSource } from "./connections.ts";
export type { DatabaseOptions, Executor, Row } from "./database.ts";
export type { CancelAnswer } from "./cancellations.ts";
export type { ConsentPosition, DecideAnswer, StoredConsent, StoredDecision } from "./consents.ts";
export type { OverdueRun } from "./deadlines.ts";
export type { Checkpoint, NextDelivery } from "./handovers.ts";
export type { ExpiredHold } from "./holds.ts";
export type { OpenIntent } from "./intents.ts";
export type { Acknowledgement } from "./acknowledgements.ts";
export type { ContainmentItem, ItemKind } from "./items.ts";
export type { PassPage, Position } from "./keyset.ts";
export type { JudgedLoss, LapsedClaim } from "./losses.ts";
export type { DoctorCheck } from "./doctor.ts";
export { DRIVERS, type DriverName } from "./drivers/driver.ts";
export { LedgerError, type LedgerFaultKind } from "./errors.ts";
export type { NewEntry, StoredEntry } from "./journal.ts";
export type { ApiKey, NewKey, StoredKey } from "./keys.ts";
export { openLedger, type BeforeOpening, type Ledger, type LedgerOptions } from "./ledger.ts";
export {
  DEFAULT_APPLICATION_ROLE,
  migrate,
  migrationSql,
  type MigrateOptions,
  type MigrateResult,
} from "./migrate.ts";
export type { OpenArm, StoredRetry } from "./arms.ts";
export type { NewConsent, ParkAnswer, Standing } from "./parks.ts";
export type { ClearAnswer } from "./quarantines.ts";
export type { StrandedRun } from "./pinned.ts";
export type { RepinAnswer } from "./repins.ts";
export type { DeliveryRow, RunPageFilter, StoredRun } from "./reads.ts";
export { createRoles, rolesSql, type RoleOptions } from "./roles.ts";
export type { DueArm, Resumption } from "./resumptions.ts";
export type { Settlement, SettleAnswer } from "./settlements.ts";
export { MAX_BUFFERED_SIGNALS, type NewSignal, type SignalAnswer } from "./signals.ts";
export { DEFAULT_SCHEMA } from "./statement.ts";
