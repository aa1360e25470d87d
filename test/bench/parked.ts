import { openLedger, type Ledger } from "@ghouls/ledger";
import type { Parts } from "./parts.ts";
import { spreadOf, type Spread } from "./spread.ts";

/** What the reconciler asks for, a page each, and what it finds: the time of each in ms. */
export interface Parked {
  readonly parked: number;
  readonly due: number;
  /** Nothing is due. */
  readonly idle: Readonly<Record<Look, Spread>>;
  /** Timers that are due bring their runs back, one transaction each. */
  readonly resumedPerSecond: number;
}

const PAGE = 100;
const LOOKS = {
  "arms.due": (ledger) => ledger.arms.due({ limit: PAGE }),
  "consents.to-look-up": (ledger) => ledger.consents.toLookUp({ limit: PAGE }),
  "runs.overdue": (ledger) => ledger.runs.overdue({ limit: PAGE }),
  "deliveries.due-publications": (ledger) => ledger.deliveries.duePublications({ limit: PAGE }),
  "ledger.next-look": (ledger) => ledger.nextLook(),
} as const satisfies Readonly<Record<string, (ledger: Ledger) => Promise<unknown>>>;
type Look = keyof typeof LOOKS;

const REPEATS = 20;
const CHUNK = 25_000;

/** Every other one waits for a consent that a source is asked about in a year, the others sleep for a year. */
const PARK = `
with made as (
  select gen_random_uuid() as id, n from generate_series(1, $1::integer) as n
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name, workflow_version,
    workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at,
    started_at, generation, deadline_at)
  select 'default', id, id, case when n % 2 = 0 then 'sleeps-' else 'asks-' end || id, 'r', 'zero-step', 1, 'grown', 'idle', 5,
    'submitter', '{submitter}', case when n % 2 = 0 then 'AWAITING_TIMER' else 'AWAITING_CONSENT' end, 1, 'null', 'd',
    ghouls.clock(), ghouls.clock(), 1, ghouls.clock() + interval '2 years'
  from made returning tenant_id, run_id, status
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, token, claimed_by,
    claimed_at, lease_until, created_at, settled_at)
  select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'parked', 'idle', 5, ghouls.clock(), gen_random_uuid(), 'worker',
    ghouls.clock(), ghouls.clock(), ghouls.clock(), ghouls.clock()
  from run returning tenant_id, run_id, seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select tenant_id, run_id, 1, seq, 'grown', 0, 'd', ghouls.clock() from delivery
), wait as (
  insert into ghouls.waits select tenant_id, run_id, 1, seq, ghouls.clock() from delivery
), arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, created_at)
  select d.tenant_id, d.run_id, gen_random_uuid(), 0, '', w.kind, w.kind, 1, w.owner, 1, 1, ghouls.clock() + interval '1 year',
    ghouls.clock()
  from delivery d
  join run on run.run_id = d.run_id
  cross join lateral (select case run.status when 'AWAITING_TIMER' then 'sleep' else 'consent' end as kind,
    case run.status when 'AWAITING_TIMER' then 'timer' else 'consent' end as owner) as w
  returning *
)
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest,
  request_digest, deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select tenant_id, run_id, gen_random_uuid(), arm_id, 'PENDING', name, '{}', 'd', 'd', '{role:legal}', 1, false, 'expire',
  'tickets', due_at, created_at, due_at
from arm where owner = 'consent'`;

const MAKE_DUE = `
update ghouls.arms a set due_at = ghouls.clock()
from (select tenant_id, run_id, arm_id from ghouls.arms where owner = 'timer' limit $1) as chosen
where a.tenant_id = chosen.tenant_id and a.run_id = chosen.run_id and a.arm_id = chosen.arm_id`;

/** Parks runs, and measures what the reconciler's passes cost beside them. They stay. */
export async function measureParked(parts: Parts, parked: number): Promise<Parked> {
  const { admin } = parts;
  for (let left = parked; left > 0; left -= CHUNK) await admin.query(PARK, [Math.min(left, CHUNK)]);
  await admin.query(
    "vacuum (analyze) ghouls.runs, ghouls.deliveries, ghouls.arms, ghouls.waits, ghouls.consents, ghouls.checkpoints",
  );
  const ledger = openLedger({ connectionString: parts.databaseUrl, maxConnections: 1 });
  try {
    const idle: Partial<Record<Look, Spread>> = {};
    for (const [name, look] of Object.entries(LOOKS)) {
      await look(ledger);
      const took: number[] = [];
      for (let at = 0; at < REPEATS; at += 1) {
        const started = performance.now();
        await look(ledger);
        took.push(performance.now() - started);
      }
      idle[name as Look] = spreadOf(took);
    }
    const due = Math.min(1_000, Math.ceil(parked / 10));
    await admin.query(MAKE_DUE, [due]);
    return { parked, due, idle: idle as Parked["idle"], resumedPerSecond: await resume(ledger) };
  } finally {
    await ledger.close();
  }
}

/** As the pass does, without its messages. Another reconciler takes its share, which is not counted. */
async function resume(ledger: Ledger): Promise<number> {
  const started = performance.now();
  let resumed = 0;
  for (;;) {
    const { found, next } = await ledger.arms.due({ limit: PAGE });
    for (const { tenantId, runId } of found)
      if ((await ledger.runs.resumeDue({ tenantId, runId }, 3_600)) !== null) resumed += 1;
    if (next === undefined && found.length < PAGE) break;
  }
  return resumed / ((performance.now() - started) / 1_000);
}
