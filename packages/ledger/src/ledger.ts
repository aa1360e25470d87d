import { Database, type DatabaseOptions, type Executor } from "./connection/database.ts";
import { examine, readSchemaVersion, readWhatWaits, type DoctorCheck } from "./schema/doctor.ts";
import * as acknowledgements from "./containment/acknowledgements.ts";
import * as answers from "./attempts/answers.ts";
import * as attempts from "./attempts/attempt.ts";
import * as submissions from "./attempts/submissions.ts";
import * as beats from "./hops/beats.ts";
import * as cancellations from "./containment/cancellations.ts";
import * as degraded from "./reconciler/degraded.ts";
import * as passReads from "./reconciler/reads.ts";
import * as rounds from "./reconciler/rounds.ts";
import * as copies from "./evidence/copies.ts";
import * as doubts from "./evidence/doubts.ts";
import * as emitted from "./evidence/emitted.ts";
import * as endActs from "./evidence/end-acts.ts";
import * as retention from "./evidence/retention.ts";
import * as rolling from "./evidence/rolling.ts";
import * as seals from "./evidence/seals.ts";
import * as shownEvidence from "./evidence/shown.ts";
import * as slices from "./evidence/slices.ts";
import * as verification from "./evidence/verification.ts";
import * as evidence from "./hops/evidence.ts";
import * as arms from "./waits/arms.ts";
import * as consents from "./waits/consents.ts";
import * as deadLetters from "./dead-letters/dead-letters.ts";
import * as deadlines from "./waits/deadlines.ts";
import * as giveBacks from "./hops/give-backs.ts";
import * as grants from "./grants.ts";
import * as handovers from "./hops/handovers.ts";
import * as holds from "./admission/holds.ts";
import * as intents from "./hops/intents.ts";
import * as undos from "./hops/undos.ts";
import * as skips from "./hops/skips.ts";
import * as workerEnds from "./hops/worker-ends.ts";
import * as faultWords from "./integrity/acknowledgements.ts";
import * as faultPages from "./integrity/pages.ts";
import * as faults from "./integrity/faults.ts";
import { judgeLedger } from "./integrity/judgement.ts";
import * as items from "./containment/items.ts";
import * as keys from "./keys.ts";
import * as lookUps from "./waits/look-ups.ts";
import * as losses from "./hops/losses.ts";
import * as admissions from "./admission/admissions.ts";
import * as childEnds from "./children/ends.ts";
import * as childStarts from "./children/starts.ts";
import * as claims from "./hops/claims.ts";
import * as journal from "./hops/journal.ts";
import { readHealth, readNextLook } from "./next-look.ts";
import * as parks from "./waits/parks.ts";
import * as pauses from "./pauses/pauses.ts";
import * as runPauses from "./pauses/run-pauses.ts";
import * as pinned from "./pinned.ts";
import * as publications from "./hops/publications.ts";
import * as clears from "./containment/clears.ts";
import * as redrives from "./redrives/redrives.ts";
import * as matching from "./matching.ts";
import * as reads from "./reads.ts";
import * as runCounts from "./run-counts.ts";
import * as runPages from "./run-pages.ts";
import * as repins from "./repins.ts";
import * as restarts from "./waits/restarts.ts";
import * as capacities from "./reservations/capacities.ts";
import * as releases from "./releases/releases.ts";
import * as removals from "./releases/removals.ts";
import * as reservations from "./reservations/reads.ts";
import * as takes from "./reservations/takes.ts";
import * as unitReleases from "./reservations/releases.ts";
import * as resumptions from "./waits/resumptions.ts";
import * as settlements from "./hops/settlements.ts";
import * as signals from "./waits/signals.ts";
import * as traces from "./hops/traces.ts";
import * as transactions from "./hops/transactions.ts";
import * as workflows from "./admission/workflows.ts";

/** A function of the ledger with its database filled in. */
type Bound<F> = F extends (database: Database, ...rest: infer R) => infer T ? (...rest: R) => T : never;

function bind<F extends (database: Database, ...rest: never[]) => unknown>(
  database: Database,
  call: F,
): Bound<F> {
  return ((...rest: never[]) => call(database, ...rest)) as Bound<F>;
}

/** Awaited before whatever may open work for the reconciler. It is not to reject: nothing is done then. */
export type BeforeOpening = () => Promise<void>;

export interface LedgerOptions extends DatabaseOptions {
  readonly beforeOpening?: BeforeOpening;
}

/**
 * The same for a function that may open work: after it somebody must look at the ledger, or must look sooner. What it
 * announces comes before its first statement, so before its commit (design.md §3, Reconcile). What turns one open thing
 * into another in one commit is bound without; a test holds every function to its kind.
 */
function opening<F extends (database: Database, ...rest: never[]) => Promise<unknown>>(
  database: Database,
  beforeOpening: BeforeOpening,
  call: F,
): Bound<F> {
  return (async (...rest: never[]) => {
    await beforeOpening();
    return call(database, ...rest);
  }) as Bound<F>;
}

/** An admission in a transaction of the caller's own. */
function admitIn(
  _database: Database,
  executor: Executor,
  newRuns: readonly admissions.NewRun[],
  settings: admissions.AdmitSettings,
): ReturnType<typeof admissions.insertRunsIfKeyIsNew> {
  return admissions.insertRunsIfKeyIsNew(executor, newRuns, settings);
}

/** The ledger: every statement of the protocol over one pool. Each is one guarded move; a lost race is a value. */
export type Ledger = ReturnType<typeof openLedger>;

/** Opens a pool as the application's role. Nothing is sent until the first statement. */
export function openLedger(options: LedgerOptions) {
  const database = new Database(options);
  const beforeOpening = options.beforeOpening ?? (() => Promise.resolve());
  return {
    schema: database.schema,
    runs: {
      admit: opening(database, beforeOpening, admissions.insertRunsIfKeyIsNew),
      admitIn: opening(database, beforeOpening, admitIn),
      byKey: bind(database, admissions.readRunsByKey),
      byId: bind(database, admissions.readRunsById),
      get: bind(database, reads.readRun),
      progress: bind(database, reads.readProgress),
      page: bind(database, runPages.readRunPage),
      count: bind(database, runCounts.countRuns),
      pinned: bind(database, runCounts.countPinnedRuns),
      openOfPins: bind(database, pinned.countOpenRunsOfPins),
      stranded: bind(database, pinned.readStrandedRuns),
      repinIfUnclaimed: bind(database, repins.repinRunIfUnclaimed),
      raiseAttention: bind(database, settlements.raiseAttention),
      quarantineIfClaimed: bind(database, settlements.quarantineRunIfClaimed),
      adoptIfClaimed: bind(database, handovers.adoptIfClaimed),
      clearAbsenceIfClaimed: bind(database, handovers.clearAbsenceIfClaimed),
      redrive: opening(database, beforeOpening, redrives.redriveRun),
      cancel: opening(database, beforeOpening, cancellations.cancelRun),
      matching: bind(database, matching.readMatchingRuns),
      clear: opening(database, beforeOpening, clears.clearRun),
      pause: bind(database, runPauses.pauseRun),
      unpause: opening(database, beforeOpening, runPauses.unpauseRun),
      overdue: bind(database, deadlines.readOverdueRuns),
      failOverdue: bind(database, deadlines.failOverdueRun),
      restartIfClaimed: bind(database, restarts.restartIfClaimed),
      /** By a timer's message, which may come before the hint says so. */
      resume: opening(database, beforeOpening, resumptions.resumeRun),
      /** By the pass that has found something due. */
      resumeDue: bind(database, resumptions.resumeRun),
    },
    deliveries: {
      releaseIfHeld: opening(database, beforeOpening, admissions.releaseDeliveryIfHeld),
      claimIfDue: opening(database, beforeOpening, claims.claimDeliveriesIfDue),
      taken: bind(database, claims.readTaken),
      unclaimed: bind(database, claims.readUnclaimed),
      settleIfClaimed: bind(database, settlements.settleDeliveryIfClaimed),
      duePublications: bind(database, publications.readDuePublications),
      markPublished: bind(database, publications.markPublished),
      markRelayed: bind(database, publications.markRelayed),
      markPublicationFailed: bind(database, publications.markPublicationFailed),
      markSkippedAsPaused: opening(database, beforeOpening, publications.markSkippedAsPaused),
      settleContainIfClaimed: bind(database, settlements.settleContainIfClaimed),
      beatIfClaimed: bind(database, beats.beatIfClaimed),
      parkIfClaimed: bind(database, parks.parkIfClaimed),
      yieldStandingIfClaimed: bind(database, parks.yieldStandingIfClaimed),
      beatOfWorker: bind(database, beats.beatOfWorker),
      yieldIfClaimed: bind(database, handovers.yieldDeliveryIfClaimed),
      giveBackIfClaimed: bind(database, handovers.giveDeliveryBackIfClaimed),
      wereGivenBack: bind(database, giveBacks.wereGivenBack),
      lapsed: bind(database, losses.readLapsedClaims),
      settleLost: bind(database, losses.settleLostClaims),
      expiredHolds: bind(database, holds.readExpiredHolds),
      expireHolds: bind(database, holds.expireHolds),
      recordWorkerEnd: opening(database, beforeOpening, workerEnds.recordWorkerEnd),
      sayWorkerEnded: opening(database, beforeOpening, workerEnds.sayWorkerEnded),
      ofRun: bind(database, reads.readDeliveries),
    },
    /** Of messages whose deliveries were not claimed; for people. */
    skips: {
      note: bind(database, skips.noteSkips),
      ofRun: bind(database, skips.readSkips),
    },
    journal: {
      appendIfClaimed: bind(database, journal.appendEntryIfClaimed),
      read: bind(database, journal.readJournal),
      outline: bind(database, journal.readOutline),
    },
    /** Of the user's statements together with a call's entry. */
    transactions: {
      begin: bind(database, transactions.beginUserTransaction),
      ask: bind(database, transactions.askInTransaction),
      limit: bind(database, transactions.limitTransaction),
      commitIfClaimed: bind(database, transactions.commitEntryIfClaimed),
      readBack: bind(database, transactions.readEntryBack),
    },
    checkpoints: { read: bind(database, handovers.readCheckpoint) },
    undos: {
      startIfClaimed: bind(database, undos.startUndoableIfClaimed),
      clearIfClaimed: bind(database, undos.clearUndoableIfClaimed),
      ofRun: bind(database, undos.readStepsToUndo),
    },
    intents: {
      openIfClaimed: bind(database, intents.openIntentIfClaimed),
      closeIfClaimed: bind(database, intents.closeIntentIfClaimed),
      openOfRun: bind(database, intents.readOpenIntents),
      lastOfRun: bind(database, intents.readLastIntents),
    },
    items: {
      ofRun: bind(database, items.readItems),
      noteError: bind(database, items.noteError),
      due: bind(database, items.readDueItems),
      contain: bind(database, items.containRun),
      /** The same before an item is due: by whoever knows that it may be looked at now. */
      containSooner: opening(database, beforeOpening, items.containRun),
      acknowledge: opening(database, beforeOpening, acknowledgements.acknowledgeItem),
      acknowledgeWorker: opening(database, beforeOpening, acknowledgements.acknowledgeWorker),
    },
    arms: {
      openOfRun: bind(database, arms.readOpenArms),
      retriesOfRun: bind(database, arms.readRetries),
      runOf: bind(database, resumptions.readRunOfArm),
      due: bind(database, resumptions.readDueArms),
    },
    consents: {
      get: bind(database, consents.readConsent),
      page: bind(database, consents.readConsentPage),
      inbox: bind(database, consents.readInbox),
      decisions: bind(database, consents.readDecisions),
      decide: opening(database, beforeOpening, consents.decideConsent),
      toLookUp: bind(database, lookUps.readConsentsToLookUp),
      postponeLookUp: bind(database, lookUps.postponeLookUp),
    },
    attempts: {
      get: bind(database, attempts.readAttempt),
      forCallback: bind(database, attempts.readAttemptForCallback),
      page: bind(database, attempts.readAttemptPage),
      due: bind(database, attempts.readDueAttempts),
      definedOfRun: bind(database, attempts.readDefinedAttempts),
      /** One open thing stays one: it has a next look before and after. */
      claimSubmission: bind(database, submissions.claimSubmission),
      askToCancel: bind(database, answers.askToCancel),
      change: opening(database, beforeOpening, answers.changeAttempt),
      keepContradiction: bind(database, answers.keepContradiction),
    },
    children: {
      /** One open thing becomes two: the claim that starts it has a look ahead already. */
      startIfClaimed: bind(database, childStarts.startChildIfClaimed),
      ends: bind(database, childEnds.readChildEnds),
      /** By whoever has seen the end, which has a look ahead. */
      tellParent: bind(database, childEnds.tellParent),
      toCancel: bind(database, childEnds.readChildrenToCancel),
      /** By the containment of its parent, which has found it. */
      cancel: bind(database, cancellations.cancelRun),
    },
    capacities: {
      say: bind(database, capacities.sayCapacities),
      add: bind(database, capacities.addCapacities),
    },
    reservations: {
      takeIfClaimed: bind(database, takes.takeIfClaimed),
      releaseIfClaimed: bind(database, unitReleases.releaseIfClaimed),
      withdrawIfClaimed: bind(database, unitReleases.withdrawIfClaimed),
      ofRun: bind(database, reservations.readReservations),
    },
    signals: { keep: opening(database, beforeOpening, signals.keepSignal) },
    evidence: {
      reject: bind(database, evidence.recordRejectedResult),
      copySteps: bind(database, copies.copySteps),
      emitted: bind(database, emitted.readEmitted),
      terminalOf: bind(database, shownEvidence.readTerminalRecord),
      rejectedOf: bind(database, shownEvidence.readRejected),
      copiesOf: bind(database, shownEvidence.readCopies),
      /** By whoever has seen the end of the run: what is left of it has a look ahead. */
      carryOut: bind(database, endActs.carryOutEndAct),
      due: bind(database, endActs.readDueActs),
      repair: bind(database, endActs.repairEndAct),
      writeMissing: bind(database, endActs.writeMissingRecord),
      judge: bind(database, doubts.judgeRecords),
      slices: bind(database, slices.sliceRecords),
      settleDoubt: bind(database, doubts.settleDoubt),
      /** Of all tenants. */
      verify: bind(database, verification.verifyEvidence),
    },
    seals: {
      due: bind(database, seals.readDueSeals),
      runsToSeal: bind(database, seals.readRunsToSeal),
      make: bind(database, seals.sealRecords),
      checkNext: bind(database, rolling.checkNextSeal),
    },
    retention: {
      due: bind(database, retention.readDueRetention),
      empty: bind(database, retention.emptyOne),
    },
    /** For people who trace; nothing of the protocol reads it. */
    traces: {
      markMade: bind(database, traces.markMadeInTrace),
      /** In a transaction of the caller's own. */
      markMadeIn: (
        executor: Executor,
        ...rest: Parameters<typeof traces.markMadeInTrace> extends [unknown, ...infer R] ? R : never
      ) => traces.markMadeInTrace(executor, ...rest),
      markHop: bind(database, traces.markHopTrace),
      ofClaims: bind(database, traces.readTraceOrigins),
    },
    workflows: {
      record: bind(database, workflows.recordWorkflows),
      buildOf: bind(database, workflows.readBuildOf),
    },
    /** Code that deploys have left for workers that lack it. */
    releases: {
      record: bind(database, releases.recordReleases),
      ofPin: bind(database, releases.readReleaseOf),
      newest: bind(database, releases.readNewestRelease),
      all: bind(database, releases.readReleases),
      removeUnpinned: bind(database, removals.removeUnpinnedReleases),
      toDelete: bind(database, removals.readBundlesToDelete),
      markDeleted: bind(database, removals.markBundleDeleted),
    },
    keys: {
      byId: bind(database, keys.readKey),
      markUsed: bind(database, keys.markKeyUsed),
      page: bind(database, keys.readKeyPage),
      /** For the role that owns the schema, as is `revoke`: the application's is refused by name. */
      create: bind(database, keys.createKeys),
      revoke: bind(database, keys.revokeKey),
      rolesOfSubject: bind(database, keys.readRolesOfSubject),
    },
    grants: {
      live: bind(database, grants.readLiveGrant),
      page: bind(database, grants.readGrantPage),
      /** For the role that owns the schema, as is `revoke`. */
      create: bind(database, grants.createGrant),
      revoke: bind(database, grants.revokeGrant),
    },
    /** Of a tenant, of a workflow, or of everything; a run's own is among `runs`. */
    pauses: {
      set: bind(database, pauses.setPause),
      lift: opening(database, beforeOpening, pauses.liftPause),
      get: bind(database, pauses.readPause),
      ofTenant: bind(database, pauses.readPausesOfTenant),
      find: bind(database, pauses.findPause),
      all: bind(database, pauses.readPauses),
    },
    /** Of what judgements have found. */
    integrity: {
      judge: bind(database, judgeLedger),
      note: bind(database, faults.noteFaults),
      get: bind(database, faultWords.readFault),
      acknowledge: bind(database, faultWords.acknowledgeFault),
      page: bind(database, faultPages.readFaultPage),
      unacknowledged: bind(database, faultPages.countUnacknowledged),
    },
    deadLetters: {
      note: bind(database, deadLetters.noteDeadLetter),
      forget: bind(database, deadLetters.forgetDeadLetters),
      /** By the reconciler, whose relay publishes in the same round. */
      republish: bind(database, deadLetters.republishDeadLetter),
    },
    /** What the reconciler knows of its own work. Losing it costs a look from the start. */
    reconciler: {
      passes: bind(database, rounds.readPasses),
      beginRound: bind(database, rounds.beginRound),
      advance: bind(database, rounds.advanceRound),
      endRound: bind(database, rounds.endRound),
      note: bind(database, rounds.notePasses),
      degrade: bind(database, degraded.degradeOwners),
      degradedAmong: bind(database, degraded.degradedAmong),
      takeTurns: bind(database, degraded.takeDegradedTurns),
      clean: bind(database, degraded.cleanOwners),
      noteReason: bind(database, degraded.noteDegradedReason),
      makeDue: opening(database, beforeOpening, degraded.makeDegradedDue),
      states: bind(database, passReads.readPassStates),
      degradedOwners: bind(database, passReads.readDegradedOwners),
      degradedPages: bind(database, passReads.readDegradedPages),
      repairs: bind(database, passReads.readRepairs),
    },
    nextLook: bind(database, readNextLook),
    health: bind(database, readHealth),
    /** For a transaction of the caller's own, which this ledger does not see: once more when it has been committed. */
    beforeOpening,
    doctor: (): Promise<DoctorCheck[]> => examine(database),
    /** What the doctor finds that is consistent, and waits for a person. */
    waiting: (): Promise<DoctorCheck[]> => readWhatWaits(database),
    schemaVersion: () => readSchemaVersion(database),
    transaction: database.transaction.bind(database),
    close: () => database.close(),
  };
}
