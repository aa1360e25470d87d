import { GhoulsError, sqlStates } from "@ghouls/core";
import { FINAL_ATTEMPT, LIVING_ATTEMPT } from "../attempts/attempt.ts";
import { Connections, type Held } from "../connection/connections.ts";
import { DEADLINE_STATES } from "../waits/deadlines.ts";
import { migrate } from "./migrate.ts";
import { PARKED_STATES } from "../waits/resumptions.ts";
import { createRoles, type RoleOptions } from "./roles.ts";
import { notPaused } from "../sql/paused.ts";
import { assertIdentifier, bindSchema } from "../sql/statement.ts";

/**
 * A ledger for tests: a schema of its own, whose clock moves when it is told to, and hardly by itself. Nothing of the
 * protocol is another than elsewhere; only `ghouls.clock()` is replaced, which is there for that (design.md §3, Time).
 * None of this is for a schema that is kept.
 */
export interface ScratchLedger {
  readonly schema: string;
  /** The ledger's time, in milliseconds since 1970. */
  now(): Promise<number>;
  /** Moves the ledger's clock forward by so many milliseconds. */
  advance(milliseconds: number): Promise<void>;
  /** Moves it forward to a moment; a moment that has passed leaves it. */
  advanceTo(epochMs: number): Promise<void>;
  /**
   * What of these runs is due next, of all runs where none are named. What is due already does not count, nor do looks at
   * jobs that services have where `polls` is false.
   */
  nextDue(runIds?: readonly string[], options?: { readonly polls?: boolean }): Promise<NextDue>;
  /** These runs, and those that they have started, and so on. */
  family(runIds: readonly string[]): Promise<readonly string[]>;
  /** Forgets every run, and sets the clock back to the server's. */
  empty(): Promise<void>;
  /** Drops the schema, and closes its connections. */
  drop(): Promise<void>;
}

/** Moments in milliseconds since 1970. */
export interface NextDue {
  /** A timer, an expiry, a deadline, the end of a lease or of what a lost worker may still do: it brings something about. */
  readonly definite: number | undefined;
  /** Another publication, delivery or look, which may come to the same as the one before. */
  readonly repeated: number | undefined;
  /** How far these runs are: another text where one of them has moved, other than by being delivered again. */
  readonly progress: string;
}

export interface ScratchOptions {
  /** Of a role that may create schemas in its database. */
  readonly connectionString: string;
  readonly schema: string;
  /** Another role than the one that connects: what the ledger is used as. */
  readonly applicationRole?: string;
}

/**
 * How much slower than the server's the clock of a scratch ledger goes by itself. It must go, because moments keep an
 * order; and hardly, so that neither a slow test nor a breakpoint ends a lease, and delays add up to what they say.
 */
export const SLOWER = 100;

const FIXTURES = `
create table ghouls.test_clock (at timestamptz not null, since timestamptz not null);
insert into ghouls.test_clock values (statement_timestamp(), statement_timestamp());
create or replace function ghouls.clock() returns timestamptz language sql stable parallel safe
  as 'select at + (statement_timestamp() - since) / ${SLOWER} from ghouls.test_clock';
`;

const MILLISECOND = "interval '1 millisecond'";
const OF_THESE = (column: string) => `($1::uuid[] is null or ${column} = any($1::uuid[]))`;

const NEXT_DUE = `
select ceil(extract(epoch from min(due_at) filter (where definite)) * 1000)::double precision as definite,
  ceil(extract(epoch from min(due_at) filter (where not definite)) * 1000)::double precision as repeated,
  (select coalesce(string_agg(concat_ws(' ', run.run_id, run.status, run.journal_length, run.epoch, run.losses, run.open_items),
      ', ' order by run.run_id), '')
    from ghouls.runs run
    where ${OF_THESE("run.run_id")}) as progress
from (
  select a.due_at, true as definite
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and run.status in (${sqlStates(PARKED_STATES)}) and run.quarantined_at is null
    and ${OF_THESE("run.run_id")}
  union all
  select run.deadline_at, true
  from ghouls.runs run
  where run.status in (${sqlStates(DEADLINE_STATES)}) and run.quarantined_at is null and ${OF_THESE("run.run_id")}
  union all
  select case d.status when 'CLAIMED' then d.lease_until when 'HELD' then d.hold_expires_at else d.due_at end,
    d.status <> 'PENDING'
  from ghouls.deliveries d
  where d.status in ('CLAIMED', 'HELD', 'PENDING') and ${OF_THESE("d.run_id")}
  union all
  select d.next_publication_at, false
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and run.quarantined_at is null and (d.cause = 'contain' or ${notPaused("run")}) and ${OF_THESE("run.run_id")}
  union all
  select i.next_look_at, i.over_at is not null
  from ghouls.containment_items i
  where i.acknowledged_at is null and ${OF_THESE("i.run_id")}
  union all
  select c.next_look_at, false
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null and ${OF_THESE("c.run_id")}
  union all
  select t.next_look_at, false
  from ghouls.attempts t
  where t.status not in (${sqlStates(FINAL_ATTEMPT)}) and ${OF_THESE("t.run_id")}
    and ($2::boolean or t.status not in (${sqlStates(LIVING_ATTEMPT)}))
  union all
  select t.heartbeat_at + t.heartbeat_seconds * interval '1 second', true
  from ghouls.attempts t
  where t.status in (${sqlStates(LIVING_ATTEMPT)}) and ${OF_THESE("t.run_id")}
  union all
  select t.deadline_at, true
  from ghouls.attempts t
  where t.status not in (${sqlStates(FINAL_ATTEMPT)}) and t.cancel_asked_at is null and ${OF_THESE("t.run_id")}
) as due
where due_at > ghouls.clock()`;

const FAMILY = `
with recursive family as (
  select q.run_id from unnest($1::uuid[]) as q(run_id)
  union
  select child.run_id from ghouls.runs child join family on child.parent_run_id = family.run_id
)
select family.run_id from family`;

/** The roles of a server for tests; the migrator may create schemas there. Needs a superuser. */
export async function createScratchRoles(
  adminConnectionString: string,
  roles: Pick<RoleOptions, "migrator" | "application">,
): Promise<void> {
  await createRoles(adminConnectionString, { schema: "ghouls", mayCreateSchemas: true, ...roles });
}

/**
 * Creates a schema with every migration and a clock that can be moved.
 * @throws GhoulsError configuration_invalid where the role may not create one; LedgerError where there is no server
 */
export async function createScratchLedger(options: ScratchOptions): Promise<ScratchLedger> {
  const { connectionString, schema } = options;
  assertIdentifier(schema, "the schema name");
  const { ask, close } = asking(connectionString);
  const inSchema = (text: string, values?: unknown[]) => ask(bindSchema(text, schema), values);
  const drop = async () => {
    try {
      await ask(`drop schema if exists ${schema} cascade`);
    } finally {
      await close();
    }
  };
  let role: string;
  try {
    role = await roleThatMayCreate(ask);
  } catch (error) {
    await close();
    throw error;
  }
  try {
    const applicationRole = options.applicationRole ?? role;
    await migrate({ connectionString, schema, applicationRole });
    await inSchema(FIXTURES);
    await inSchema(`grant select on ghouls.test_clock to ${applicationRole}`);
  } catch (error) {
    await drop();
    throw error;
  }
  return {
    schema,
    now: async () => {
      const [row] = await inSchema(
        "select extract(epoch from ghouls.clock())::double precision * 1000 as now",
      );
      return Number(row?.["now"]);
    },
    advance: async (milliseconds) => {
      await inSchema(`update ghouls.test_clock set at = at + $1::double precision * ${MILLISECOND}`, [
        milliseconds,
      ]);
    },
    advanceTo: async (epochMs) => {
      await inSchema(
        `update ghouls.test_clock
         set at = at + greatest(interval '0', to_timestamp($1::double precision / 1000) - ghouls.clock())`,
        [epochMs],
      );
    },
    nextDue: async (runIds, { polls = true } = {}) => {
      const [row] = await inSchema(NEXT_DUE, [runIds ?? null, polls]);
      const moment = (value: unknown) => (value === null ? undefined : Number(value));
      return {
        definite: moment(row?.["definite"]),
        repeated: moment(row?.["repeated"]),
        progress: String(row?.["progress"]),
      };
    },
    family: async (runIds) => {
      const found = await inSchema(FAMILY, [runIds]);
      return found.map((row) => String(row["run_id"]));
    },
    empty: async () => {
      await inSchema("truncate ghouls.runs, ghouls.evidence, ghouls.child_ends, ghouls.pauses cascade");
      await inSchema(
        "update ghouls.test_clock set at = statement_timestamp(), since = statement_timestamp()",
      );
    },
    drop,
  };
}

type Ask = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** @throws GhoulsError */
async function roleThatMayCreate(ask: Ask): Promise<string> {
  const [row] = await ask(
    "select current_user as role, current_database() as database, has_database_privilege(current_database(), 'create') as may",
  );
  const role = String(row?.["role"]);
  if (row?.["may"] === true) return role;
  throw new GhoulsError(
    "configuration_invalid",
    `the role "${role}" may not create a schema in the database "${String(row?.["database"])}"`,
    {
      fix: `Let it: grant create on database "${String(row?.["database"])}" to "${role}". Or give no database, and a PostgreSQL is started for the tests.`,
    },
  );
}

/** A few connections for statements of a test's own, one transaction each. */
function asking(connectionString: string): { readonly ask: Ask; readonly close: () => Promise<void> } {
  const connections = new Connections({
    connectionString,
    maxConnections: 2,
    applicationName: "ghouls-scratch",
  });
  const ask: Ask = async (text, values) => {
    const patience = connections.patience();
    let held: Held | undefined;
    try {
      held = await connections.connect("a test's own statement", patience);
      return (await held.query(values === undefined ? text : { text, values })).rows;
    } finally {
      held?.release(false);
      patience.end();
    }
  };
  return { ask, close: () => connections.close() };
}
