import { sqlStates, type Claim, type RunStatus } from "@ghouls/core";
import { calmIfKnown } from "../attempts/attention.ts";
import { FINAL_ATTEMPT } from "../attempts/attempt.ts";
import { recordAudit } from "../audit.ts";
import type { Database } from "../connection/database.ts";
import { EFFECT_KEY } from "../sql/effect-key.ts";
import { endRunIfContained, lockRuns, type RunKey } from "./endings.ts";
import { makeGivenBackDue } from "../hops/handovers.ts";
import type { ItemKind } from "./items.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** One item is acknowledged: by its worker under its token, by a probe, or by an operator. */
const ACKNOWLEDGE = writeStatement(
  "items.acknowledge",
  `
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
    and not exists (
      select from ghouls.attempts t
      where i.kind = 'attempt' and t.tenant_id = i.tenant_id and t.run_id = i.run_id and t.call_key = i.key
        and t.status not in (${sqlStates(FINAL_ATTEMPT)}) and t.sends_until > ghouls.clock())
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = coalesce($8, 'resolved'), outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${EFFECT_KEY} = a.key
  returning i.run_id
), job as (
  update ghouls.attempts t
  set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = $5, next_look_at = null, uncertain_reason = null
  from acknowledged a
  where a.kind = 'attempt' and t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.call_key = a.key
    and t.status not in (${sqlStates(FINAL_ATTEMPT)})
  returning t.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1, contain_from = case when $5 in ('operator', 'probe', 'undo') then ghouls.clock() else run.contain_from end
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
  and (select count(*) from job) >= 0
returning run.open_items`,
);

const HOLDS = readStatement(
  "deliveries.holds",
  `
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`,
);

const OVER_NOW = writeStatement(
  "deliveries.over-now",
  `
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`,
);

export interface Acknowledgement {
  readonly kind: ItemKind;
  readonly key: string;
  readonly by: "worker" | "probe" | "undo" | "operator";
  readonly words: string;
  /** What became of an effect, where that is known. */
  readonly effect?: "happened" | "cannot_happen";
  /** Given where only the holder of this token may speak. */
  readonly token?: string;
  /** Given where only the holder of this claim may speak, and only while it holds it. */
  readonly under?: Claim;
}

/** Acknowledges one item and ends the run where it was the last. Null where there is no such open item. */
export async function acknowledgeItem(
  database: Database,
  key: RunKey,
  acknowledgement: Acknowledgement,
  audit?: { readonly actor: string; readonly reason: string },
): Promise<{ readonly openItems: number; readonly ended: RunStatus | null } | null> {
  return database.transaction("items.acknowledge", async (transaction) => {
    await lockRuns(transaction, [key]);
    const { kind, key: itemKey, by, words, token, under, effect } = acknowledgement;
    if (under !== undefined) {
      const held = await transaction.run(HOLDS, [under.tenantId, under.runId, under.seq, under.token]);
      if (held.length === 0) return null;
    }
    const [row] = await transaction.run(ACKNOWLEDGE, [
      key.tenantId,
      key.runId,
      kind,
      itemKey,
      by,
      words,
      token ?? null,
      effect ?? null,
    ]);
    if (row === undefined) return null;
    if (kind === "worker") await makeGivenBackDue(transaction, key);
    if (kind === "attempt") await calmIfKnown(transaction, key);
    if (audit !== undefined) {
      const subject = `${kind} ${itemKey}`;
      await recordAudit(transaction, key, { ...audit, act: "resolve", subject });
    }
    return { openItems: rows(row).number("open_items"), ended: await endRunIfContained(transaction, key) };
  });
}

/**
 * A worker says that nothing of its claim acts any more, under that claim's token. Where the claim has not been judged
 * yet, its end is written into the claim, so that the item of a later judgement is over at once.
 */
export async function acknowledgeWorker(
  database: Database,
  claim: Claim,
): ReturnType<typeof acknowledgeItem> {
  const acknowledged = await acknowledgeItem(database, claim, {
    kind: "worker",
    key: String(claim.seq),
    by: "worker",
    words: "its worker ended the hop: no step is in flight",
    token: claim.token,
  });
  if (acknowledged !== null) return acknowledged;
  await database.run(OVER_NOW, [claim.tenantId, claim.runId, claim.seq, claim.token]);
  return null;
}
