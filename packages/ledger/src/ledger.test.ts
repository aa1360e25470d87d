import { expect, test } from "vitest";
import { openLedger } from "./ledger.ts";

/**
 * Every function of the ledger by what it means for the reconciler (design.md §3, Reconcile). A new one that is not in this
 * table fails: whoever adds it decides whether the hint is lowered before its commit.
 */
const KINDS: Readonly<Record<string, "reads" | "opens" | `keeps: ${string}` | `no statement: ${string}`>> = {
  "runs.admit": "opens",
  "runs.admitIn": "opens",
  "runs.byKey": "reads",
  "runs.byId": "reads",
  "runs.get": "reads",
  "runs.page": "reads",
  "runs.progress": "reads",
  "journal.outline": "reads",
  "runs.raiseAttention": "keeps: it asks for a person, and no pass looks after that",
  "runs.quarantineIfClaimed": "keeps: a claim is open, and what it leaves is nobody's before a person's word",
  "runs.adoptIfClaimed": "keeps: a claim is open",
  "runs.clearAbsenceIfClaimed": "keeps: a claim is open",
  "runs.redrive": "opens",
  "runs.matching": "reads",
  "runs.cancel": "opens",
  "runs.clear": "opens",
  "runs.pause": "keeps: it closes work, and opens none",
  "runs.unpause": "opens",
  "runs.count": "reads",
  "runs.pinned": "reads",
  "runs.openOfPins": "reads",
  "runs.stranded": "reads",
  "runs.repinIfUnclaimed": "keeps: what is open for the run stays open, and stays due when it was",
  "runs.overdue": "reads",
  "runs.failOverdue": "keeps: a deadline that has passed is open, and only the reconciler ends a run for it",
  "runs.restartIfClaimed": "keeps: a claim is open, and the next delivery comes in the same commit",
  "runs.resume": "opens",
  "runs.resumeDue": "keeps: an arm that is due is open, and only the reconciler calls it",
  "deliveries.releaseIfHeld": "opens",
  "deliveries.claimIfDue": "opens",
  "deliveries.unclaimed": "reads",
  "deliveries.settleIfClaimed":
    "keeps: a claim is open, and what is left to contain comes in the same commit",
  "deliveries.duePublications": "reads",
  "deliveries.markPublished":
    "keeps: the delivery is PENDING, and its next publication moves to a later time",
  "deliveries.markRelayed": "keeps: the delivery is PENDING, and its next publication moves to a later time",
  "deliveries.markPublicationFailed":
    "keeps: whoever publishes has opened the delivery just now, or is the reconciler, which looks again afterwards",
  "deliveries.markSkippedAsPaused": "opens",
  "deliveries.settleContainIfClaimed": "keeps: a claim is open, and the items of its run have a next look",
  "deliveries.beatIfClaimed": "keeps: a claim is open, and its lease moves to a later time",
  "deliveries.yieldStandingIfClaimed":
    "keeps: a claim is open, and the next delivery comes in the same commit",
  "deliveries.parkIfClaimed": "keeps: a claim is open, and its arms come in the same commit",
  "deliveries.beatOfWorker": "keeps: a claim is open, and its lease moves to a later time",
  "deliveries.yieldIfClaimed": "keeps: a claim is open, and the next delivery comes in the same commit",
  "deliveries.giveBackIfClaimed": "keeps: a claim is open, and the next delivery comes in the same commit",
  "deliveries.wereGivenBack": "reads",
  "deliveries.lapsed": "reads",
  "deliveries.settleLost":
    "keeps: a claim is open, and its item and the next delivery come in the same commit",
  "deliveries.expiredHolds": "reads",
  "deliveries.expireHolds": "keeps: a hold that is due is open, and only the reconciler ends it",
  "deliveries.recordWorkerEnd": "opens",
  "deliveries.sayWorkerEnded": "opens",
  "deliveries.ofRun": "reads",
  "skips.note": "keeps: it is for people, and no pass looks after it",
  "skips.ofRun": "reads",
  "journal.appendIfClaimed": "keeps: a claim is open",
  "journal.read": "reads",
  "transactions.begin": "keeps: a claim is open, and nothing is written",
  "transactions.ask": "keeps: a claim is open, and the statement is the user's",
  "transactions.limit": "keeps: a claim is open, and nothing is written",
  "transactions.commitIfClaimed": "keeps: a claim is open",
  "transactions.readBack": "reads",
  "checkpoints.read": "reads",
  "undos.startIfClaimed": "keeps: a claim is open",
  "undos.clearIfClaimed": "keeps: a claim is open",
  "undos.ofRun": "reads",
  "intents.openIfClaimed": "keeps: a claim is open",
  "intents.closeIfClaimed": "keeps: a claim is open",
  "intents.openOfRun": "reads",
  "intents.lastOfRun": "reads",
  "items.ofRun": "reads",
  "items.due": "reads",
  "items.contain":
    "keeps: an item that is due is open, what becomes of it comes in the same commit, and only the reconciler calls it",
  "items.noteError": "keeps: it is about an item that is open",
  "items.containSooner": "opens",
  "items.acknowledge": "opens",
  "items.acknowledgeWorker": "opens",
  "arms.openOfRun": "reads",
  "arms.retriesOfRun": "reads",
  "arms.runOf": "reads",
  "arms.due": "reads",
  "consents.get": "reads",
  "consents.page": "reads",
  "consents.inbox": "reads",
  "consents.decisions": "reads",
  "consents.decide": "opens",
  "consents.toLookUp": "reads",
  "consents.postponeLookUp": "keeps: a look that is due is open, and it moves to a later time",
  "capacities.say": "keeps: it belongs to the deployment and to no run",
  "capacities.add": "keeps: it belongs to the deployment and to no run",
  "reservations.takeIfClaimed": "keeps: a claim is open, and only its worker asks again",
  "reservations.releaseIfClaimed": "keeps: a claim is open, and whoever waits asks again by itself",
  "reservations.withdrawIfClaimed": "keeps: a claim is open",
  "reservations.ofRun": "reads",
  "signals.keep": "opens",
  "attempts.get": "reads",
  "attempts.forCallback": "reads",
  "attempts.page": "reads",
  "attempts.due": "reads",
  "attempts.definedOfRun": "reads",
  "attempts.claimSubmission":
    "keeps: the attempt has a look that is near, and whoever parked had a claim, or the reconciler calls it",
  "attempts.askToCancel": "keeps: a look that is due is open, and only the reconciler calls it",
  "attempts.change": "opens",
  "children.startIfClaimed":
    "keeps: a claim is open, and what it starts has a publication in the same commit",
  "children.ends": "reads",
  "children.tellParent":
    "keeps: the end of a child has a look that is due, and only whoever has written or found it calls it",
  "children.toCancel": "reads",
  "children.cancel": "keeps: an item that is due is open, and only the reconciler calls it",
  "attempts.keepContradiction": "keeps: it asks for a person, and no pass looks after that",
  "evidence.reject": "keeps: evidence is part of nothing",
  "evidence.emitted": "reads",
  "evidence.terminalOf": "reads",
  "evidence.rejectedOf": "reads",
  "evidence.copiesOf": "reads",
  "evidence.copySteps": "keeps: evidence is part of nothing",
  "evidence.carryOut": "keeps: what follows the end of a run is open since that commit, and it closes it",
  "evidence.due": "reads",
  "evidence.repair": "keeps: an act that is due is open, and only the reconciler calls it",
  "evidence.writeMissing": "keeps: an act that is due is open, and it closes it",
  "evidence.judge": "reads",
  "evidence.slices": "reads",
  "evidence.settleDoubt": "keeps: what is in doubt, or is to be sealed, is open before and after",
  "evidence.verify": "keeps: what it finds asks for a person, and no pass looks after that",
  "seals.due": "reads",
  "seals.runsToSeal": "reads",
  "seals.make": "keeps: what is to be sealed is open, and it closes it",
  "seals.checkNext": "keeps: the rolling check has a next time, and it moves to a later one",
  "retention.due": "reads",
  "retention.empty": "keeps: what is old stays old until somebody looks",
  "traces.markMade": "keeps: it is for people who trace",
  "traces.markMadeIn": "keeps: it is for people who trace",
  "traces.markHop": "keeps: it is for people who trace",
  "traces.ofClaims": "reads",
  "deliveries.taken": "reads",
  "workflows.record": "keeps: it belongs to the deployment and to no run",
  "workflows.buildOf": "reads",
  "releases.record": "keeps: it belongs to the deployment and to no run",
  "releases.ofPin": "reads",
  "releases.newest": "reads",
  "releases.all": "reads",
  "releases.removeUnpinned": "keeps: it belongs to the deployment and to no run",
  "releases.toDelete": "reads",
  "releases.markDeleted": "keeps: it belongs to the deployment and to no run",
  "keys.byId": "reads",
  "keys.page": "reads",
  "keys.markUsed": "keeps: it belongs to a key and to no run",
  "keys.create": "keeps: it belongs to a key and to no run",
  "keys.revoke": "keeps: it belongs to a key and to no run",
  "keys.rolesOfSubject": "reads",
  "grants.live": "reads",
  "grants.page": "reads",
  "grants.create": "keeps: it belongs to a grant and to no run",
  "grants.revoke": "keeps: it belongs to a grant and to no run",
  "pauses.set": "keeps: it closes work, and opens none",
  "pauses.lift": "opens",
  "pauses.get": "reads",
  "pauses.ofTenant": "reads",
  "pauses.find": "reads",
  "pauses.all": "reads",
  "integrity.judge": "keeps: it writes what was due, and quarantines, which closes work",
  "integrity.note": "keeps: a fault asks for a person, and no pass looks after that",
  "integrity.get": "reads",
  "integrity.acknowledge": "keeps: a word about a fault opens nothing",
  "integrity.page": "reads",
  "integrity.unacknowledged": "reads",
  "deadLetters.note": "keeps: it asks for a person, and no pass looks after that",
  "deadLetters.forget": "keeps: it belongs to the deployment and to no run",
  "deadLetters.republish":
    "keeps: the delivery is PENDING, and only the reconciler calls it, whose relay comes after",
  "reconciler.passes": "reads",
  "reconciler.beginRound": "keeps: it is what the reconciler knows of its own work",
  "reconciler.advance": "keeps: it is what the reconciler knows of its own work",
  "reconciler.endRound": "keeps: it is what the reconciler knows of its own work",
  "reconciler.note": "keeps: it is what the reconciler knows of its own work",
  "reconciler.degrade": "keeps: an owner that is due is open, and its turn moves to a later time",
  "reconciler.degradedAmong": "reads",
  "reconciler.takeTurns": "keeps: a turn that is due is open, and the next moves to a later time",
  "reconciler.clean": "keeps: it closes a turn, and what its owner waits for has a time of its own",
  "reconciler.noteReason": "keeps: it is what the reconciler knows of its own work",
  "reconciler.makeDue": "opens",
  "reconciler.states": "reads",
  "reconciler.degradedOwners": "reads",
  "reconciler.degradedPages": "reads",
  "reconciler.repairs": "reads",
  nextLook: "reads",
  health: "reads",
  waiting: "reads",
  doctor: "reads",
  schemaVersion: "reads",
  beforeOpening: "no statement: it is the announcement itself, for transactions that the ledger does not see",
  transaction: "no statement: it carries what its caller puts into it, and only tests do",
  close: "no statement: it ends the connections",
};

type Call = (...values: unknown[]) => unknown;

function functionsOf(value: object, path = ""): [string, Call][] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, Call][] => {
    if (typeof member === "function") return [[`${path}${name}`, member as Call]];
    return typeof member === "object" && member !== null ? functionsOf(member, `${path}${name}.`) : [];
  });
}

let asked = 0;
const stop = new Error("the test lets nothing pass");
// Nothing listens there: what comes as far as a statement fails, in another way.
const ledger = openLedger({
  connectionString: "postgres://nobody@127.0.0.1:1/none",
  chance: () => 0,
  // Whether it would come later is not asked here.
  connectPatienceMs: 1,
  beforeOpening: () => {
    asked += 1;
    return Promise.reject(stop);
  },
});
const functions = functionsOf(ledger);

test("every function of the ledger has its kind in the table, with the reason why it keeps", () => {
  expect(functions.map(([name]) => name).toSorted()).toEqual(Object.keys(KINDS).toSorted());
});

const bound = functions.filter(([name]) => !KINDS[name]?.startsWith("no statement"));

test.each(bound.filter(([name]) => KINDS[name] === "opens"))(
  "%s waits for the hint before its first statement",
  async (_, call) => {
    const before = asked;
    await expect(call({}, [], {})).rejects.toBe(stop);
    expect(asked).toBe(before + 1);
  },
);

test.each(bound.filter(([name]) => KINDS[name] !== "opens"))(
  "%s opens nothing, and costs no write of the hint",
  async (_, call) => {
    const before = asked;
    const answer = await Promise.resolve(call({}, [], {})).catch((error: unknown) => error);
    expect(answer).not.toBe(stop);
    expect(asked).toBe(before);
  },
);
