import { Database, type DatabaseOptions, type Executor } from "./database.ts";
import { examine, readSchemaVersion, type DoctorCheck } from "./doctor.ts";
import * as admissions from "./admissions.ts";
import * as claims from "./claims.ts";
import * as journal from "./journal.ts";
import * as publications from "./publications.ts";
import * as reads from "./reads.ts";
import * as settlements from "./settlements.ts";
import * as workflows from "./workflows.ts";

/** A function of the ledger with its executor filled in. */
type Bound<F> = F extends (executor: Executor, ...rest: infer R) => infer T ? (...rest: R) => T : never;

function bind<F extends (executor: Executor, ...rest: never[]) => unknown>(
  executor: Executor,
  call: F,
): Bound<F> {
  return ((...rest: never[]) => call(executor, ...rest)) as Bound<F>;
}

/** The ledger: every statement of the protocol over one pool. Each is one guarded move; a lost race is a value. */
export type Ledger = ReturnType<typeof openLedger>;

/** Opens a pool as the application's role. Nothing is sent until the first statement. */
export function openLedger(options: DatabaseOptions) {
  const database = new Database(options);
  return {
    schema: database.schema,
    runs: {
      admit: bind(database, admissions.insertRunsIfKeyIsNew),
      byKey: bind(database, admissions.readRunsByKey),
      byId: bind(database, admissions.readRunsById),
      get: bind(database, reads.readRun),
      page: bind(database, reads.readRunPage),
      raiseAttention: bind(database, settlements.raiseAttention),
      quarantineIfClaimed: bind(database, settlements.quarantineRunIfClaimed),
    },
    deliveries: {
      releaseIfHeld: bind(database, admissions.releaseDeliveryIfHeld),
      claimIfDue: bind(database, claims.claimDeliveriesIfDue),
      unclaimed: bind(database, claims.readUnclaimed),
      settleIfClaimed: bind(database, settlements.settleDeliveryIfClaimed),
      duePublications: bind(database, publications.readDuePublications),
      markPublished: bind(database, publications.markPublished),
      markPublicationFailed: bind(database, publications.markPublicationFailed),
      recordWorkerEnd: bind(database, claims.recordWorkerEnd),
      ofRun: bind(database, reads.readDeliveries),
    },
    journal: {
      appendIfClaimed: bind(database, journal.appendEntryIfClaimed),
      read: bind(database, journal.readJournal),
    },
    workflows: { record: bind(database, workflows.recordWorkflows) },
    doctor: (): Promise<DoctorCheck[]> => examine(database),
    schemaVersion: () => readSchemaVersion(database),
    transaction: database.transaction.bind(database),
    close: () => database.close(),
  };
}
