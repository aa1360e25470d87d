import { EFFECT_KEY } from "./effect-key.ts";

/**
 * What a commit does that takes a run away from whoever carries it: its open delivery is FENCED, and what a claim or an
 * effect may still do becomes an item, in the CTEs `fenced`, `worker_item` and `effect_item`. It follows a locking CTE `r`
 * with the key of one run, in the second statement of a transaction: deliveries and intents may be new.
 * @param margin parameter of the seconds that a worker's requests may act after its end
 */
export function takenAway(margin: `$${number}`): string {
  return `open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${margin}::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${EFFECT_KEY}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`;
}
