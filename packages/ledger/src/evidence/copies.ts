import type { Claim } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { writeStatement } from "../sql/statement.ts";

/** A journal entry as it is kept for people: what a worker has written under a claim. */
export interface StepCopy {
  readonly claim: Claim;
  /** Of the entry; null for what is no entry, such as an emitted event. */
  readonly ordinal: number | null;
  /** Of an emitted event: the number that its hop gave it in the live channel, where there is one. */
  readonly number?: number;
  /** The call, as people read it. */
  readonly call: string;
  readonly outcome: "ok" | "error";
  readonly tries: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
  /** The stored text; null where there is none, or where it is too long for a copy. */
  readonly bodyText: string | null;
  /** Of the stored text, also where the copy has none. */
  readonly bodyDigest: string | null;
}

/** A repeat writes nothing, and what comes when retention has been there comes without its body. */
const COPY = writeStatement(
  "evidence.copy-steps",
  `
with copy as materialized (
  select q.*
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::integer[], $6::text[], $7::text[], $8::integer[],
    $9::timestamptz[], $10::timestamptz[], $11::text[], $12::text[], $13::integer[])
    as q(tenant_id, run_id, seq, token, ordinal, call, outcome, tries, started_at, completed_at, body_text, body_digest, number)
)
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at,
  ordinal, tries, started_at, completed_at, number)
select d.tenant_id, d.run_id, gen_random_uuid(), 'durable_best_effort', d.seq, d.token, copy.call, copy.outcome,
  case when run.steps_emptied_at is null then copy.body_text end, copy.body_digest, ghouls.clock(),
  copy.ordinal, copy.tries, copy.started_at, copy.completed_at, copy.number
from copy
join ghouls.deliveries d on d.tenant_id = copy.tenant_id and d.run_id = copy.run_id and d.seq = copy.seq and d.token = copy.token
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
order by d.tenant_id, d.run_id, copy.ordinal, copy.completed_at
on conflict (tenant_id, run_id, ordinal) where class = 'durable_best_effort' do nothing
returning ordinal`,
);

/** Writes copies of journal entries, of one run or several. Answers how many are new. Under no lock of their runs. */
export async function copySteps(executor: Executor, copies: readonly StepCopy[]): Promise<number> {
  if (copies.length === 0) return 0;
  const written = await executor.run(COPY, [
    copies.map(({ claim }) => claim.tenantId),
    copies.map(({ claim }) => claim.runId),
    copies.map(({ claim }) => claim.seq),
    copies.map(({ claim }) => claim.token),
    copies.map(({ ordinal }) => ordinal),
    copies.map(({ call }) => call),
    copies.map(({ outcome }) => outcome),
    copies.map(({ tries }) => tries),
    copies.map(({ startedAt }) => startedAt.toISOString()),
    copies.map(({ completedAt }) => completedAt.toISOString()),
    copies.map(({ bodyText }) => bodyText),
    copies.map(({ bodyDigest }) => bodyDigest),
    copies.map(({ number }) => number ?? null),
  ]);
  return written.length;
}
