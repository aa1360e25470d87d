import { sqlStates, terminalStatesOf, type RunStatus } from "@ghouls/core";
import { FINAL_ATTEMPT } from "../attempts/attempt.ts";
import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { EFFECT_KEY } from "../sql/effect-key.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";

const ENDED = sqlStates(terminalStatesOf("run"));

/** The runs that may be redriven, as far as their status says. */
export const REDRIVABLE: readonly RunStatus[] = ["FAILED", "CANCELLED"];

/** Whether two rows, by their aliases, are of one call. */
const sameCall = (x: string, y: string) =>
  `${x}.epoch = ${y}.epoch and ${x}.scope = ${y}.scope and ${x}.kind = ${y}.kind and ${x}.name = ${y}.name and ${x}.nth = ${y}.nth`;

/** What a child, by its alias, has done that is not to be done again, or of which nobody knows whether it was. */
const acted = (child: string) => `(exists (
      select from ghouls.intents x
      where x.tenant_id = ${child}.tenant_id and x.run_id = ${child}.run_id and (x.outcome is null or x.outcome in ('happened', 'resolved')))
    or exists (
      select from ghouls.journal x
      where x.tenant_id = ${child}.tenant_id and x.run_id = ${child}.run_id and x.kind = 'transaction' and x.outcome = 'ok')
    or exists (
      select from ghouls.attempts x
      where x.tenant_id = ${child}.tenant_id and x.run_id = ${child}.run_id and x.status not in ('FAILED', 'CANCELLED'))
    or exists (
      select from ghouls.runs x
      where x.tenant_id = ${child}.tenant_id and x.parent_run_id = ${child}.run_id))`;

/** The name of a step of the run `r` that has been undone, null where none has: an ended run has undone all of these. */
const UNDONE_STEP = `(select u.name
    from ghouls.steps_to_undo u
    where u.tenant_id = r.tenant_id and u.run_id = r.run_id
    order by u.name limit 1)`;

/**
 * The cut is before the first call that failed: a step's error, a job or a child that did not succeed, units that were not to
 * be had. Only what was done for good before it is kept; the same behind it, or outside of the journal, would be done
 * again. Under the run's lock, in a later statement of its transaction.
 */
const JUDGE = readStatement(
  "redrives.judge",
  `
with r as materialized (
  select run.tenant_id, run.run_id, run.epoch, run.journal_start, run.journal_length, run.parent_run_id,
    run.quarantined_at is not null as quarantined, run.input_text is null as input_gone
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
), failed_call as materialized (
  select distinct a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.epoch = r.epoch
  left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where t.status in ('FAILED', 'CANCELLED') or child.status in ('FAILED', 'CANCELLED')
), entry as materialized (
  select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome,
    j.result_text is null and j.result_digest is not null as emptied,
    j.outcome = 'error' or (j.kind = 'reserve' and j.result_text = $3) or failed_call.kind is not null as failed
  from r
  join ghouls.journal j on j.tenant_id = r.tenant_id and j.run_id = r.run_id and j.ordinal > r.journal_start
  left join failed_call on ${sameCall("failed_call", "j")}
), cut as materialized (
  select coalesce((select min(entry.ordinal) from entry where entry.failed), r.journal_length + 1) as ordinal
  from r
), kept as materialized (
  select entry.* from entry join cut on entry.ordinal < cut.ordinal
), resolved as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth, i.outcome, item.acknowledged_by, item.acknowledgement
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id
  left join ghouls.containment_items item
    on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'effect' and item.key = ${EFFECT_KEY}
), done as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth
  from resolved i
  where i.outcome = 'happened'
    or (i.outcome = 'resolved' and i.acknowledged_by = 'probe' and i.acknowledgement = 'it has happened')
  union all
  select entry.epoch, entry.scope, entry.kind, entry.name, entry.nth
  from entry
  where entry.kind = 'transaction' and entry.outcome = 'ok'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  where t.status = 'SUCCEEDED'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where child.status = 'DONE' or ${acted("child")}
)
select r.parent_run_id, r.quarantined, r.input_gone, cut.ordinal as cut,
  (select entry.kind from entry where entry.ordinal = cut.ordinal) as cut_kind,
  (select entry.name from entry where entry.ordinal = cut.ordinal) as cut_name,
  (select count(*) from kept)::integer as entries,
  cut.ordinal - r.journal_start - 1 <> (select count(*) from kept)
    or exists (select from kept where kept.emptied) as journal_gone,
  (select i.name from resolved i
    where i.outcome is null or (i.outcome = 'resolved' and i.acknowledged_by is distinct from 'probe')
    order by i.name limit 1) as unknown_effect,
  (select a.name
    from ghouls.attempts t
    join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
    where t.tenant_id = r.tenant_id and t.run_id = r.run_id
      and (t.status not in (${sqlStates(FINAL_ATTEMPT)}) or t.contradiction is not null or starts_with(t.closed_by, 'operator'))
    order by a.name limit 1) as unknown_job,
  (select child.run_id
    from ghouls.runs child
    where child.tenant_id = r.tenant_id and child.parent_run_id = r.run_id and child.status not in (${ENDED})
    order by child.run_id limit 1) as open_child,
  ${UNDONE_STEP} as undone_step,
  (select done.name from done
    where done.epoch = r.epoch and not exists (select from kept where ${sameCall("kept", "done")})
    order by done.name limit 1) as done_behind,
  next.run_id as redriven_as, next.status as redriven_status,
  exists (
    select from ghouls.audit word
    where word.tenant_id = r.tenant_id and word.run_id = r.run_id and word.act = 'redrive' and word.actor = $4 and word.reason = $5) as same_word
from r
cross join cut
left join ghouls.runs next on next.tenant_id = r.tenant_id and next.redrive_of = r.run_id`,
);

/** What stands against a redrive, by name; each may name what it is about. */
export const REDRIVE_REFUSALS = [
  "not_ended",
  "quarantined",
  "child_run",
  "child_open",
  "effect_unknown",
  "job_unknown",
  "undone",
  "body_gone",
  "done_behind",
] as const;
export type RedriveRefusal = (typeof REDRIVE_REFUSALS)[number];

export interface Refused {
  readonly kind: "refused";
  readonly why: RedriveRefusal;
  /** The step, the job or the run that it is about; null where it is the run itself. */
  readonly about: string | null;
}

export interface RedrivenBefore {
  readonly kind: "redriven_before";
  readonly runId: string;
  readonly status: RunStatus;
  /** Whether it was by the same word of the same person: the answer to an earlier try of it may have been lost. */
  readonly sameWord: boolean;
}

/** Where the journal is cut: what comes before it is kept. */
export interface Cut {
  readonly kind: "cut";
  readonly ordinal: number;
  readonly entries: number;
  /** The call that is made again; null where the whole journal is kept. */
  readonly call: { readonly kind: string; readonly name: string } | null;
}

/** Journaled for units that were not to be had. */
const UNAVAILABLE = JSON.stringify({ outcome: "UNAVAILABLE" });

/** What a redrive of a locked run would be, or what stands against it. */
export async function judgeRedrive(
  executor: Executor,
  key: RunKey,
  status: RunStatus,
  word: { readonly actor: string; readonly reason: string },
): Promise<Cut | Refused | RedrivenBefore> {
  const [row] = await executor.run(JUDGE, [key.tenantId, key.runId, UNAVAILABLE, word.actor, word.reason]);
  const r = rows(row ?? {});
  const redrivenAs = r.textOrNull("redriven_as");
  if (redrivenAs !== null) {
    const now = r.text("redriven_status") as RunStatus;
    return { kind: "redriven_before", runId: redrivenAs, status: now, sameWord: r.boolean("same_word") };
  }
  const parent = r.textOrNull("parent_run_id");
  const openChild = r.textOrNull("open_child");
  const [effect, job] = [r.textOrNull("unknown_effect"), r.textOrNull("unknown_job")];
  const [undone, behind] = [r.textOrNull("undone_step"), r.textOrNull("done_behind")];
  const refused = (why: RedriveRefusal, about: string | null = null): Refused => ({
    kind: "refused",
    why,
    about,
  });
  if (!REDRIVABLE.includes(status)) return refused("not_ended", status);
  if (r.boolean("quarantined")) return refused("quarantined");
  if (parent !== null) return refused("child_run", parent);
  if (openChild !== null) return refused("child_open", openChild);
  if (effect !== null) return refused("effect_unknown", effect);
  if (job !== null) return refused("job_unknown", job);
  if (undone !== null) return refused("undone", undone);
  if (r.boolean("input_gone")) return refused("body_gone", "its input");
  if (r.boolean("journal_gone")) return refused("body_gone", "its journal");
  if (behind !== null) return refused("done_behind", behind);
  const kind = r.textOrNull("cut_kind");
  return {
    kind: "cut",
    ordinal: r.number("cut"),
    entries: r.number("entries"),
    call: kind === null ? null : { kind, name: r.text("cut_name") },
  };
}
