import { callKey, parkedAs, type ArmOwner, type CallId, type Claim, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns } from "../containment/endings.ts";
import { CLAIM_STATES, heldBy } from "../sql/fence.ts";
import {
  nextOf,
  yieldDeliveryIfClaimed,
  type Checkpoint,
  type NextDelivery,
  type YieldSettings,
} from "../hops/handovers.ts";
import { readOpenArms, type OpenArm } from "./arms.ts";
import { openOwner, type NewAttempt, type NewConsent } from "./owners.ts";
import { rows } from "../sql/rows.ts";
import { closeArms, readClosings } from "./resumptions.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A call that a run is to wait in. Where its arm stands open already, that arm and its owner are taken over. */
export interface Standing {
  readonly call: CallId;
  /** Of a new arm. */
  readonly armId: string;
  readonly owner: ArmOwner;
  /** When its time is over, by the ledger's clock; of a consent it is counted from the park. */
  readonly dueAt: Date | null;
  /** Of a step that waits for its next try: how many it has had. */
  readonly tries: number | null;
  readonly consent?: NewConsent;
  readonly attempt?: NewAttempt;
}

export type ParkAnswer =
  | { readonly kind: "parked"; readonly status: RunStatus; readonly arms: readonly OpenArm[] }
  /** Something had happened already: the hop hands over instead, and the next one finds it in the journal. */
  | { readonly kind: "continued"; readonly next: NextDelivery }
  /** What stands open is not what the code asks for. Nothing was written. */
  | ({ readonly kind: "mismatch" } & Problem)
  | null;

/** Takes over what stands open, and opens the rest. Under the fence; the run has been locked by a statement before it. */
const OPEN = writeStatement(
  "arms.open",
  `
with ${heldBy(CLAIM_STATES)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`,
);

/** A step whose next try has been made, and has ended it, waits no more. */
const CLOSE_STEPS = writeStatement(
  "arms.close-steps",
  `
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`,
);

const PARK = writeStatement(
  "deliveries.park",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`,
);

/** The same as a yield, behind what this very transaction has journaled. */
const CONTINUE = writeStatement(
  "deliveries.continue",
  `
with ${heldBy(CLAIM_STATES)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`,
);

const PARKED = readStatement(
  "deliveries.parked",
  `
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`,
);

/**
 * Parks a run (design.md §3, Park): the wait with its arms and their owners, the checkpoint and the delivery's end in one
 * commit. What has happened already turns it into a handover. Null where the claim is gone.
 */
export async function parkIfClaimed(
  database: Database,
  claim: Claim,
  checkpoint: Checkpoint,
  standing: readonly Standing[],
  settings: { readonly publisherGraceSeconds: number },
): Promise<ParkAnswer> {
  return database
    .transaction("deliveries.park", async (transaction): Promise<ParkAnswer> => {
      await lockRuns(transaction, [claim]);
      const opened = await transaction.run(OPEN, [
        ...keyOf(claim),
        checkpoint.journalLength,
        ...columnsOf(standing),
      ]);
      if (opened.length !== standing.length) return answerOfEarlierTry(transaction, claim);
      const ids = new Set(opened.map((row) => rows(row).text("arm_id")));
      // An arm that was taken over has its own id, and its owner.
      for (const one of standing) if (ids.has(one.armId)) await openOwner(transaction, claim, one, settings);
      const open = await readOpenArms(transaction, claim);
      const generation = Math.max(...open.map((arm) => arm.generation));
      await transaction.run(CLOSE_STEPS, [claim.tenantId, claim.runId, generation]);
      const arms = open.filter((arm) => arm.generation === generation || arm.call.kind !== "step");
      const mismatch = mismatchOf(arms, generation, standing);
      if (mismatch !== undefined) throw new Mismatch(mismatch.what, mismatch);
      const prefix = [checkpoint.workflowDigest, checkpoint.journalLength, checkpoint.journalDigest] as const;
      const closings = await readClosings(transaction, claim);
      if (closings.length === 0) {
        const status = parkedAs(arms.map(({ owner }) => owner));
        const [parked] = await transaction.run(PARK, [...keyOf(claim), ...prefix, status]);
        if (parked === undefined) throw new TypeError("a run that is locked and held was not parked");
        return { kind: "parked", status, arms };
      }
      await closeArms(transaction, claim, claim.seq, closings);
      const [row] = await transaction.run(CONTINUE, [
        ...keyOf(claim),
        ...prefix,
        settings.publisherGraceSeconds,
      ]);
      if (row === undefined) throw new TypeError("a run that is locked and held was not continued");
      return { kind: "continued", next: nextOf(row) };
    })
    .catch((error: unknown) => {
      if (error instanceof Mismatch) return { kind: "mismatch" as const, ...error.problem };
      throw error;
    });
}

/**
 * Yields a run whose steps wait for their next tries, or gives it back where `dueAt` is given: their arms, the checkpoint
 * and the next delivery in one commit. Null where the claim is gone.
 */
export async function yieldStandingIfClaimed(
  database: Database,
  claim: Claim,
  checkpoint: Checkpoint,
  standing: readonly Standing[],
  settings: YieldSettings,
): Promise<NextDelivery | null> {
  return database.transaction("deliveries.yield-standing", async (transaction) => {
    await lockRuns(transaction, [claim]);
    const opened = await transaction.run(OPEN, [
      ...keyOf(claim),
      checkpoint.journalLength,
      ...columnsOf(standing),
    ]);
    const next = await yieldDeliveryIfClaimed(transaction, claim, checkpoint, settings);
    if (next === null && opened.length > 0)
      throw new TypeError("a run that is locked and held was not handed over");
    return next;
  });
}

interface Problem {
  readonly what: string;
  /** Where it is about a frozen request: of which call, and the id of its consent or attempt. */
  readonly key?: string;
  readonly ownerId?: string;
}

/** Rolls the transaction back: nothing of a park that contradicts the ledger is kept. */
class Mismatch extends Error {
  readonly problem: Problem;

  constructor(message: string, problem: Problem) {
    super(message);
    this.problem = problem;
  }
}

/** Why what stands open is not what the code asks for; undefined where it is. */
function mismatchOf(
  arms: readonly OpenArm[],
  generation: number,
  standing: readonly Standing[],
): Problem | undefined {
  const forgotten = arms.find((arm) => arm.generation < generation);
  if (forgotten !== undefined)
    return {
      what: `${forgotten.call.kind} "${forgotten.call.name}" stands open, but the code does not ask for it any more`,
    };
  for (const { call, consent, attempt } of standing) {
    const asked = consent ?? attempt;
    const arm = asked && arms.find((one) => sameCall(one.call, call));
    if (arm !== undefined && arm.requestDigest !== null && arm.requestDigest !== asked?.requestDigest)
      return {
        what: `the ${call.kind} "${call.name}" was frozen with another request than the code asks for now`,
        key: callKey(call),
        ownerId: arm.consentId ?? arm.attemptId ?? "",
      };
  }
  return undefined;
}

function sameCall(a: CallId, b: CallId): boolean {
  return (
    a.epoch === b.epoch && a.scope === b.scope && a.kind === b.kind && a.name === b.name && a.nth === b.nth
  );
}

/** Zero rows, or fewer: the claim is gone, or an earlier try of this very park was committed and its answer lost. */
async function answerOfEarlierTry(executor: Executor, claim: Claim): Promise<ParkAnswer> {
  const [row] = await executor.run(PARKED, keyOf(claim));
  if (row === undefined) return null;
  const r = rows(row);
  if (r.text("outcome") === "continued") {
    return { kind: "continued", next: nextOf(row) };
  }
  return { kind: "parked", status: r.text("status") as RunStatus, arms: await readOpenArms(executor, claim) };
}

function columnsOf(standing: readonly Standing[]): unknown[] {
  return [
    standing.map(({ armId }) => armId),
    standing.map(({ call }) => call.epoch),
    standing.map(({ call }) => call.scope),
    standing.map(({ call }) => call.kind),
    standing.map(({ call }) => call.name),
    standing.map(({ call }) => call.nth),
    standing.map(({ owner }) => owner),
    standing.map(({ dueAt }) => dueAt),
    standing.map(({ tries }) => tries),
    standing.map(({ consent }) => consent?.expiresInSeconds ?? null),
  ];
}

function keyOf(claim: Claim): [string, string, number, string] {
  return [claim.tenantId, claim.runId, claim.seq, claim.token];
}
