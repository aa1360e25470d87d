import {
  terminalStatesOf,
  sqlStates,
  type AttemptStatus,
  type RunStatus,
  type ServiceTraits,
} from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import {
  newestOf,
  olderThan,
  type NewestPosition,
  newestValues,
  type NewestFilter,
  type NewestPage,
} from "../sql/newest.ts";
import { rows } from "../sql/rows.ts";
import { readStatement } from "../sql/statement.ts";
import { PARKED_STATES } from "../waits/resumptions.ts";

/** An attempt of a tenant. */
export interface AttemptKey extends RunKey {
  readonly attemptId: string;
}

/** One delegated job, without what was asked and what came of it. */
export interface ListedAttempt extends AttemptKey {
  readonly status: AttemptStatus;
  /** Name of the call that has delegated it. */
  readonly name: string;
  readonly workflow: string;
  readonly service: string;
  readonly adapter: string;
  readonly adapterVersion: string;
  /** Of what identifies its service. */
  readonly serviceDigest: string;
  readonly requestDigest: string;
  readonly idempotencyKey: string;
  readonly submissions: number;
  readonly uncertainReason: string | null;
  readonly contradiction: string | null;
  readonly cancelReason: "deadline" | "ended" | "restart" | null;
  /** Why the last question came to nothing, and when. */
  readonly trouble: { readonly why: string; readonly at: Date } | null;
  readonly createdAt: Date;
  readonly acknowledgedAt: Date | null;
  readonly heartbeatAt: Date | null;
  readonly deadlineAt: Date | null;
  readonly nextLookAt: Date | null;
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
}

/** An attempt as one statement has found it. What is judged and written later is guarded by its status and token. */
export interface Attempt extends ListedAttempt {
  readonly traits: ServiceTraits;
  readonly pollSeconds: number | null;
  readonly heartbeatSeconds: number | null;
  /** As stored; empty where it was read among others, and where retention has emptied it. */
  readonly requestText: string;
  readonly storedDigest: string;
  readonly token: string | null;
  readonly looks: number;
  readonly misses: number;
  readonly unsent: boolean;
  readonly reportText: string | null;
  readonly reportDigest: string | null;
  readonly callbackDigest: string | null;
  readonly callbackExpired: boolean;
  readonly callbackUsed: boolean;
  readonly cancelAsked: boolean;
  readonly runStatus: RunStatus;
  /** Whether its run asks for a person. */
  readonly attended: boolean;
  /** Whether its run stands in a wait that waits for it. */
  readonly parked: boolean;
  /** Whether its run may wait for it still. */
  readonly armOpen: boolean;
  /** Whether nothing that was sent under its token can arrive any more. */
  readonly late: boolean;
  /** Whether its service remembers the key of what was sent under its token, as early as that can have been. */
  readonly remembered: boolean;
  readonly overdue: boolean;
  /** Whether a heartbeat that it has declared has not come. */
  readonly heartLapsed: boolean;
}

export const FINAL_ATTEMPT: readonly AttemptStatus[] = terminalStatesOf("attempt");
/** The states in which a service is known to have the job. */
export const LIVING_ATTEMPT: readonly AttemptStatus[] = ["SUBMITTED", "RUNNING"];

const LISTED = `t.tenant_id, t.run_id, t.attempt_id, t.status, t.service, t.adapter, t.adapter_version, t.service_digest,
  t.request_digest, t.idempotency_key, t.submissions, t.uncertain_reason, t.contradiction, t.cancel_reason, t.trouble, t.trouble_at, t.created_at,
  t.acknowledged_at, t.heartbeat_at, t.deadline_at, t.next_look_at, t.closed_at, t.closed_by, a.name, run.workflow_name`;

/**
 * Whether a service knows a key for certain that was sent in a row of attempts: tested after its answer, since it is true for a
 * time only.
 */
export const remembered = (alias: string): string =>
  `(${alias}.remembers_seconds is null
    or coalesce(${alias}.sends_from, ${alias}.created_at) + ${alias}.remembers_seconds * interval '1 second' > ghouls.clock())`;

const COLUMNS = `${LISTED}, t.lookup, t.submit, t.cancel, t.delay_seconds, t.remembers_seconds, t.poll_seconds, t.heartbeat_seconds,
  t.stored_digest, t.token, t.looks, t.misses, t.unsent, t.report_digest, t.callback_digest,
  t.cancel_asked_at is not null as cancel_asked, t.callback_used_at is not null as callback_used,
  coalesce(t.callback_expires_at <= ghouls.clock(), false) as callback_expired,
  run.status as run_status, run.attention_at is not null as attended, a.closed_at is null as arm_open,
  a.closed_at is null and a.generation = run.generation and run.quarantined_at is null
    and run.status in (${sqlStates(PARKED_STATES)}) as parked,
  coalesce(t.sends_until + t.delay_seconds * interval '1 second' < ghouls.clock(), false) as late,
  ${remembered("t")} as remembered,
  coalesce(t.deadline_at <= ghouls.clock(), false) as overdue,
  coalesce(t.status in (${sqlStates(LIVING_ATTEMPT)})
    and t.heartbeat_at + t.heartbeat_seconds * interval '1 second' <= ghouls.clock(), false) as heart_lapsed`;

/** The bodies may be long: a page of attempts goes without. */
const BODIES = "t.request_text, t.report_text";
const NO_BODIES = "null as request_text, null as report_text";

const OF = `from ghouls.attempts t
join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
join ghouls.runs run on run.tenant_id = t.tenant_id and run.run_id = t.run_id`;

const READ = readStatement(
  "attempts.read",
  `
select ${COLUMNS}, ${BODIES}
${OF}
where t.tenant_id = $1 and t.attempt_id = $2`,
);

/** By its id alone: whoever calls back has a token instead of a tenant. A system statement. */
const READ_FOR_CALLBACK = readStatement(
  "attempts.read-for-callback",
  `
select ${COLUMNS}, ${BODIES}
${OF}
where t.attempt_id = $1`,
);

/** The row is locked; its run has been by an earlier statement of the transaction. */
const LOCK = readStatement(
  "attempts.lock",
  `
select ${COLUMNS}, ${BODIES}
${OF}
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
for update of t`,
);

const DUE = dueStatements(
  "attempts.due",
  { time: "t.next_look_at", id: "t.run_id", owner: "t.attempt_id", column: "attempt_id" },
  (due) => `
select ${COLUMNS}, ${NO_BODIES}, ${microsOf("t.next_look_at")}
${OF}
where t.status not in (${sqlStates(FINAL_ATTEMPT)}) and ${due}`,
);

const DEFINED_OF_RUN = readStatement(
  "attempts.defined-of-run",
  `
select ${COLUMNS}, ${NO_BODIES}
${OF}
where t.tenant_id = $1 and t.run_id = $2 and t.status = 'DEFINED'
order by t.created_at, t.attempt_id`,
);

/** Newest first; of one run, or in one state only, where that is asked. */
const PAGE = readStatement(
  "attempts.page",
  `
select ${LISTED}, ${microsOf("t.created_at")}
${OF}
where t.tenant_id = $1 and ($3::uuid is null or t.run_id = $3) and ($4::text is null or t.status = $4)
  and ${olderThan("t.created_at", "t.attempt_id", 5)}
order by t.created_at desc, t.attempt_id desc
limit $2`,
);

/** Null where the tenant has no such attempt. */
export async function readAttempt(
  executor: Executor,
  key: { readonly tenantId: string; readonly attemptId: string },
): Promise<Attempt | null> {
  const [row] = await executor.run(READ, [key.tenantId, key.attemptId]);
  return row === undefined ? null : attemptOf(row);
}

/** For a caller whose token is still to be compared. */
export async function readAttemptForCallback(executor: Executor, attemptId: string): Promise<Attempt | null> {
  const [row] = await executor.run(READ_FOR_CALLBACK, [attemptId]);
  return row === undefined ? null : attemptOf(row);
}

/** As it stands now, locked. Its run is locked by the transaction already. */
export async function lockAttempt(executor: Executor, key: AttemptKey): Promise<Attempt | null> {
  const [row] = await executor.run(LOCK, [key.tenantId, key.runId, key.attemptId]);
  return row === undefined ? null : attemptOf(row);
}

/** Attempts that are due for a look, the longest first. They are their own owners. Spans tenants. */
export async function readDueAttempts(executor: Executor, look: DueLook): Promise<PassPage<Attempt>> {
  const found = await runDue(executor, DUE, look);
  return pageOf(found, look.limit, attemptOf);
}

/** Those of a run that nobody has sent yet. */
export async function readDefinedAttempts(executor: Executor, key: RunKey): Promise<Attempt[]> {
  return (await executor.run(DEFINED_OF_RUN, [key.tenantId, key.runId])).map(attemptOf);
}

/** A page of a tenant's attempts, newest first. */
export async function readAttemptPage(
  executor: Executor,
  tenantId: string,
  filter: NewestFilter<AttemptStatus>,
  page: NewestPage,
): Promise<{ readonly attempts: readonly ListedAttempt[]; readonly next: NewestPosition | undefined }> {
  const found = await executor.run(PAGE, newestValues(tenantId, filter, page));
  const { shown, next } = newestOf(found, page.limit, "attempt_id", listedOf);
  return { attempts: shown, next };
}

function listedOf(row: Row): ListedAttempt {
  const r = rows(row);
  const troubleAt = r.dateOrNull("trouble_at");
  return {
    tenantId: r.text("tenant_id"),
    runId: r.text("run_id"),
    attemptId: r.text("attempt_id"),
    status: r.text("status") as AttemptStatus,
    name: r.text("name"),
    workflow: r.text("workflow_name"),
    service: r.text("service"),
    adapter: r.text("adapter"),
    adapterVersion: r.text("adapter_version"),
    serviceDigest: r.text("service_digest"),
    requestDigest: r.text("request_digest"),
    idempotencyKey: r.text("idempotency_key"),
    submissions: r.number("submissions"),
    uncertainReason: r.textOrNull("uncertain_reason"),
    contradiction: r.textOrNull("contradiction"),
    cancelReason: r.textOrNull("cancel_reason") as ListedAttempt["cancelReason"],
    trouble: troubleAt === null ? null : { why: r.text("trouble"), at: troubleAt },
    createdAt: r.date("created_at"),
    acknowledgedAt: r.dateOrNull("acknowledged_at"),
    heartbeatAt: r.dateOrNull("heartbeat_at"),
    deadlineAt: r.dateOrNull("deadline_at"),
    nextLookAt: r.dateOrNull("next_look_at"),
    closedAt: r.dateOrNull("closed_at"),
    closedBy: r.textOrNull("closed_by"),
  };
}

function attemptOf(row: Row): Attempt {
  const r = rows(row);
  const remembersSeconds = r.numberOrNull("remembers_seconds");
  return {
    ...listedOf(row),
    traits: {
      lookup: r.text("lookup") as ServiceTraits["lookup"],
      submit: r.text("submit") as ServiceTraits["submit"],
      cancel: r.text("cancel") as ServiceTraits["cancel"],
      delaySeconds: r.number("delay_seconds"),
      ...(remembersSeconds === null ? {} : { remembersSeconds }),
    },
    pollSeconds: r.numberOrNull("poll_seconds"),
    heartbeatSeconds: r.numberOrNull("heartbeat_seconds"),
    requestText: r.textOrNull("request_text") ?? "",
    storedDigest: r.text("stored_digest"),
    token: r.textOrNull("token"),
    looks: r.number("looks"),
    misses: r.number("misses"),
    unsent: r.boolean("unsent"),
    reportText: r.textOrNull("report_text"),
    reportDigest: r.textOrNull("report_digest"),
    callbackDigest: r.textOrNull("callback_digest"),
    callbackExpired: r.boolean("callback_expired"),
    callbackUsed: r.boolean("callback_used"),
    cancelAsked: r.boolean("cancel_asked"),
    runStatus: r.text("run_status") as RunStatus,
    attended: r.boolean("attended"),
    parked: r.boolean("parked"),
    armOpen: r.boolean("arm_open"),
    late: r.boolean("late"),
    remembered: r.boolean("remembered"),
    overdue: r.boolean("overdue"),
    heartLapsed: r.boolean("heart_lapsed"),
  };
}
