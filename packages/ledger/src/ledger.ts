import { Database, type DatabaseOptions } from "./database.ts";
import { examine, readSchemaVersion, type DoctorCheck } from "./doctor.ts";
import * as acknowledgements from "./acknowledgements.ts";
import * as beats from "./beats.ts";
import * as cancellations from "./cancellations.ts";
import * as evidence from "./evidence.ts";
import * as handovers from "./handovers.ts";
import * as intents from "./intents.ts";
import * as items from "./items.ts";
import * as losses from "./losses.ts";
import * as admissions from "./admissions.ts";
import * as claims from "./claims.ts";
import * as journal from "./journal.ts";
import * as publications from "./publications.ts";
import * as reads from "./reads.ts";
import * as settlements from "./settlements.ts";
import * as workflows from "./workflows.ts";

/** A function of the ledger with its database filled in. */
type Bound<F> = F extends (database: Database, ...rest: infer R) => infer T ? (...rest: R) => T : never;

function bind<F extends (database: Database, ...rest: never[]) => unknown>(
  database: Database,
  call: F,
): Bound<F> {
  return ((...rest: never[]) => call(database, ...rest)) as Bound<F>;
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
      cancel: bind(database, cancellations.cancelRun),
    },
    deliveries: {
      releaseIfHeld: bind(database, admissions.releaseDeliveryIfHeld),
      claimIfDue: bind(database, claims.claimDeliveriesIfDue),
      unclaimed: bind(database, claims.readUnclaimed),
      settleIfClaimed: bind(database, settlements.settleDeliveryIfClaimed),
      duePublications: bind(database, publications.readDuePublications),
      markPublished: bind(database, publications.markPublished),
      markPublicationFailed: bind(database, publications.markPublicationFailed),
      settleContainIfClaimed: bind(database, settlements.settleContainIfClaimed),
      beatIfClaimed: bind(database, beats.beatIfClaimed),
      yieldIfClaimed: bind(database, handovers.yieldDeliveryIfClaimed),
      giveBackIfClaimed: bind(database, handovers.giveDeliveryBackIfClaimed),
      lapsed: bind(database, losses.readLapsedClaims),
      settleLost: bind(database, losses.settleLostClaims),
      recordWorkerEnd: bind(database, claims.recordWorkerEnd),
      ofRun: bind(database, reads.readDeliveries),
    },
    journal: {
      appendIfClaimed: bind(database, journal.appendEntryIfClaimed),
      read: bind(database, journal.readJournal),
    },
    checkpoints: { read: bind(database, handovers.readCheckpoint) },
    intents: {
      openIfClaimed: bind(database, intents.openIntentIfClaimed),
      closeIfClaimed: bind(database, intents.closeIntentIfClaimed),
      openOfRun: bind(database, intents.readOpenIntents),
      lastOfRun: bind(database, intents.readLastIntents),
    },
    items: {
      ofRun: bind(database, items.readItems),
      due: bind(database, items.readDueItems),
      contain: bind(database, items.containRun),
      acknowledge: bind(database, acknowledgements.acknowledgeItem),
      acknowledgeWorker: bind(database, acknowledgements.acknowledgeWorker),
    },
    evidence: { reject: bind(database, evidence.recordRejectedResult) },
    workflows: { record: bind(database, workflows.recordWorkflows) },
    doctor: (): Promise<DoctorCheck[]> => examine(database),
    schemaVersion: () => readSchemaVersion(database),
    transaction: database.transaction.bind(database),
    close: () => database.close(),
  };
}
