import { retentionPass, sealsPass } from "@ghouls/engine";
import { openLedger, type Ledger } from "@ghouls/ledger";
import { roundOf } from "../support/passes.ts";
import type { Parts } from "./parts.ts";
import { spreadOf, type Spread } from "./spread.ts";

/** What the passes after an end ask for beside ended runs, a page each: the time of each in ms. */
export interface Ended {
  readonly ended: number;
  /** Nothing is due: all of them are sealed, and young. */
  readonly idle: Readonly<Record<Look, Spread>>;
  /** Of those that are made due. */
  readonly due: number;
  readonly sealedPerSecond: number;
  readonly emptiedPerSecond: number;
}

const PAGE = 100;
const DAY_MS = 86_400_000;
const YOUNG = { bodiesMs: 30 * DAY_MS, stepsMs: 30 * DAY_MS, repairsMs: 30 * DAY_MS };
const LOOKS = {
  "evidence.due-acts": (ledger) => ledger.evidence.due({ limit: PAGE }),
  "seals.due": (ledger) => ledger.seals.due({ limit: PAGE }),
  "retention.due": (ledger) => ledger.retention.due(YOUNG, { limit: PAGE }),
  "ledger.next-look": (ledger) => ledger.nextLook(),
} as const satisfies Readonly<Record<string, (ledger: Ledger) => Promise<unknown>>>;
type Look = keyof typeof LOOKS;

const REPEATS = 20;
const CHUNK = 50_000;

const END = `
with made as (
  select gen_random_uuid() as id, ghouls.clock() - n * interval '1 second' as at from generate_series(1, $1::integer) as n
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at,
    output_text, output_digest)
  select 'ended', id, id, 'r', 'zero-step', 1, 'grown', 'idle', 5, 'submitter', '{submitter}', 'DONE', 1, 'null', 'd', at, at, at,
    'null', 'd'
  from made returning tenant_id, run_id, finished_at
)
insert into ghouls.terminal_records (tenant_id, run_id, record_text, record_digest, written_at)
select tenant_id, run_id, '{}', repeat('0', 64), finished_at from run`;

/** Their records are written anew, as those of runs of which nobody had written one. */
const MAKE_DUE = `
with chosen as (
  select tenant_id, run_id, finished_at from ghouls.runs where tenant_id = 'ended' order by finished_at desc limit $1
), forgotten as (
  delete from ghouls.terminal_records r using chosen where r.tenant_id = chosen.tenant_id and r.run_id = chosen.run_id
)
insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select tenant_id, run_id, 'seal', finished_at, finished_at from chosen`;

/** Adds ended runs, and measures what the passes of evidence and retention cost beside them. They stay. */
export async function measureEnded(parts: Parts, ended: number): Promise<Ended> {
  const { admin } = parts;
  for (let left = ended; left > 0; left -= CHUNK) await admin.query(END, [Math.min(left, CHUNK)]);
  await admin.query("vacuum (analyze) ghouls.runs, ghouls.terminal_records, ghouls.end_acts, ghouls.seals");
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
    const due = Math.min(1_000, Math.ceil(ended / 2));
    await admin.query(MAKE_DUE, [due]);
    const silent = () => undefined;
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    const perSecond = async (work: () => Promise<unknown>) => {
      const started = performance.now();
      await work();
      return due / ((performance.now() - started) / 1_000);
    };
    const seals = sealsPass({ ledger, faults: silent, log });
    const sealedPerSecond = await perSecond(() => roundOf(seals));
    await admin.query(
      "update ghouls.runs set steps_emptied_at = finished_at, bodies_emptied_at = finished_at where tenant_id = 'ended' and run_id not in (select run_id from ghouls.runs where tenant_id = 'ended' order by finished_at desc limit $1)",
      [due],
    );
    const retention = retentionPass({ ledger, retention: { bodiesMs: 0, stepsMs: null, repairsMs: null } });
    const emptiedPerSecond = await perSecond(() => roundOf(retention, { limit: PAGE }));
    return { ended, idle: idle as Ended["idle"], due, sealedPerSecond, emptiedPerSecond };
  } finally {
    await ledger.close();
  }
}
