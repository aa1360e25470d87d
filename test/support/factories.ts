import { randomUUID } from "node:crypto";
import {
  isTerminalRun,
  sha256,
  type Claim,
  type DeliveryCause,
  type DeliveryStatus,
  type RunStatus,
} from "@ghouls/core";
import type { TestDatabase } from "./database.ts";

export interface MadeRun extends Claim {
  readonly status: RunStatus;
  readonly deliveryStatus: DeliveryStatus;
}

export interface RunOptions {
  readonly tenantId?: string;
  readonly runId?: string;
  readonly status?: RunStatus;
  readonly deliveryStatus?: DeliveryStatus;
  readonly cause?: DeliveryCause;
  readonly seq?: number;
  readonly workflow?: string;
  readonly digest?: string;
  readonly input?: unknown;
  readonly paused?: boolean;
  readonly quarantined?: boolean;
  /** Seconds from now. */
  readonly dueIn?: number;
  readonly nextPublicationIn?: number;
  readonly publications?: number;
}

/** The delivery that a run of a status has where nothing else is asked for. */
function naturalDelivery(status: RunStatus): DeliveryStatus {
  if (status === "QUEUED") return "PENDING";
  return status === "RUNNING" || status === "AWAITING_HARDWARE" ? "CLAIMED" : "SETTLED";
}

/** Puts a run with its current delivery into any state, also into ones that the protocol would not make. */
export async function makeRun(db: TestDatabase, options: RunOptions = {}): Promise<MadeRun> {
  const status = options.status ?? "QUEUED";
  const deliveryStatus = options.deliveryStatus ?? naturalDelivery(status);
  const run = {
    tenantId: options.tenantId ?? "acme",
    runId: options.runId ?? randomUUID(),
    seq: options.seq ?? 1,
    token: randomUUID(),
    status,
    deliveryStatus,
  };
  const input = JSON.stringify(options.input ?? null);
  const failed = status === "FAILING" || status === "FAILED";
  await db.admin(
    `insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version,
       workflow_digest, queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest,
       error_code, error_text, error_digest, created_at, started_at, finished_at, paused_at, paused_by, pause_reason, quarantine_reason, quarantined_at)
     values ($1, $2, $2, 'r', $3, 1, $4, 'runs', 5, 'user:ada', '{operator}', $5, $6, $7, $8,
       $9, case when $9::text is not null then '{"code":"workflow_failed","name":"Error","message":"by a test"}' end,
       case when $9::text is not null then encode(sha256('{"code":"workflow_failed","name":"Error","message":"by a test"}'), 'hex') end, ghouls.clock(), ghouls.clock(), case when $10 then ghouls.clock() end,
       case when $11 then ghouls.clock() end, case when $11 then 'user:ada' end, case when $11 then 'by a test' end, case when $12 then 'by a test' end, case when $12 then ghouls.clock() end)`,
    [
      run.tenantId,
      run.runId,
      options.workflow ?? "hello",
      options.digest ?? "hello@1",
      status,
      run.seq,
      input,
      sha256(input),
      failed ? "workflow_failed" : null,
      isTerminalRun(status),
      options.paused ?? false,
      options.quarantined ?? false,
    ],
  );
  const claimed = deliveryStatus === "CLAIMED" || deliveryStatus === "SETTLED";
  await db.admin(
    `insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at,
       hold_expires_at, next_publication_at, publications, token, claimed_by, claimed_at, lease_until, created_at, settled_at,
       fenced_at)
     values ($1, $2, $3, $4, $5, case when $5 = 'SETTLED' then 'parked' end, 'runs', 5,
       ghouls.clock() + $6::double precision * interval '1 second',
       case when $5 = 'HELD' then ghouls.clock() + interval '1 hour' end,
       case when $5 = 'PENDING' then ghouls.clock() + $7::double precision * interval '1 second' end, $8, $9,
       case when $9::uuid is not null then 'worker-0' end, case when $9::uuid is not null then ghouls.clock() end,
       case when $9::uuid is not null then ghouls.clock() + interval '2 minutes' end, ghouls.clock(),
       case when $5 = 'SETTLED' then ghouls.clock() end, case when $5 = 'FENCED' then ghouls.clock() end)`,
    [
      run.tenantId,
      run.runId,
      run.seq,
      options.cause ?? "admitted",
      deliveryStatus,
      options.dueIn ?? 0,
      options.nextPublicationIn ?? 0,
      options.publications ?? 0,
      claimed ? run.token : null,
    ],
  );
  return run;
}

/** Journal entries of finished steps, in order; each is a name, or a name with its value. */
export async function makeJournal(
  db: TestDatabase,
  run: Claim,
  steps: readonly (string | [string, unknown])[],
): Promise<void> {
  let ordinal = 0;
  const uses = new Map<string, number>();
  for (const step of steps) {
    const [name, value] = typeof step === "string" ? [step, step] : step;
    const nth = (uses.get(name) ?? 0) + 1;
    uses.set(name, nth);
    const text = value === undefined ? null : JSON.stringify(value);
    await db.admin(
      `insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
         result_digest, tries, seq, token, started_at, completed_at)
       values ($1, $2, $3::integer, 0, '', 'step', $4, $5, 'ok', $6, $7, 1, $8, $9,
         timestamptz '2026-01-01' + $3::integer * interval '1 second', timestamptz '2026-01-01' + $3::integer * interval '1 second')`,
      [
        run.tenantId,
        run.runId,
        (ordinal += 1),
        name,
        nth,
        text,
        text === null ? null : sha256(text),
        run.seq,
        run.token,
      ],
    );
  }
  await db.admin("update ghouls.runs set journal_length = $3 where tenant_id = $1 and run_id = $2", [
    run.tenantId,
    run.runId,
    ordinal,
  ]);
}

export async function statusesOf(
  db: TestDatabase,
  run: Claim,
): Promise<{ run: RunStatus; delivery: DeliveryStatus; seq: number }> {
  const [row] = await db.admin<{ run: RunStatus; delivery: DeliveryStatus; seq: number }>(
    `select run.status as run, d.status as delivery, run.enqueue_seq as seq
     from ghouls.runs run join ghouls.deliveries d using (tenant_id, run_id)
     where run.tenant_id = $1 and run.run_id = $2 and d.seq = $3`,
    [run.tenantId, run.runId, run.seq],
  );
  if (row === undefined) throw new Error(`no run ${run.runId}`);
  return row;
}
