import { ENDING_RUN, isTerminalRun, type RunStatus } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { lockRuns, type RunKey } from "../containment/endings.ts";
import { resumeIfClosed, type Resumption } from "./resumptions.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A signal to keep. The payload has passed the codec; the request's digest was made before it. */
export interface NewSignal extends RunKey {
  readonly signalId: string;
  readonly name: string;
  readonly idempotencyKey: string | null;
  readonly requestDigest: string;
  readonly payloadText: string | null;
  readonly payloadDigest: string | null;
  readonly sentBy: string;
}

export type SignalAnswer =
  /** `repeated`: the same signal under the same key was kept before. */
  | {
      readonly kind: "kept";
      readonly signalId: string;
      readonly repeated: boolean;
      readonly resumption: Resumption | null;
    }
  | { readonly kind: "conflict" }
  | { readonly kind: "full" }
  | { readonly kind: "ended"; readonly status: RunStatus }
  | null;

/**
 * Signals of one run that nobody has consumed. What comes above it is refused, except the one that an open arm waits for:
 * else signals that nobody takes could keep out the only one that brings the run further.
 */
export const MAX_BUFFERED_SIGNALS = 1_000;

const BY_KEY = readStatement(
  "signals.by-key",
  `
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`,
);

const BUFFERED = readStatement(
  "signals.buffered",
  `
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`,
);

const KEEP = writeStatement(
  "signals.keep",
  `
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`,
);

/**
 * Keeps a signal, and brings its run back in the same commit where it waits for one of this name. One that comes early is
 * kept until it is waited for. Null where the tenant has no such run.
 */
export async function keepSignal(
  database: Database,
  signal: NewSignal,
  settings: { readonly publisherGraceSeconds: number },
): Promise<SignalAnswer> {
  return database.transaction("signals.keep", async (transaction): Promise<SignalAnswer> => {
    const { tenantId, runId, signalId, idempotencyKey } = signal;
    const status = (await lockRuns(transaction, [signal])).get(runId);
    if (status === undefined) return null;
    const [before] = await transaction.run(BY_KEY, [tenantId, runId, idempotencyKey, signalId]);
    if (before !== undefined) {
      const r = rows(before);
      if (r.text("request_digest") !== signal.requestDigest) return { kind: "conflict" };
      return { kind: "kept", signalId: r.text("signal_id"), repeated: true, resumption: null };
    }
    if (isTerminalRun(status) || ENDING_RUN.includes(status)) return { kind: "ended", status };
    if (await isFull(transaction, signal)) return { kind: "full" };
    await transaction.run(KEEP, [
      tenantId,
      runId,
      signalId,
      signal.name,
      idempotencyKey,
      signal.requestDigest,
      signal.payloadText,
      signal.payloadDigest,
      signal.sentBy,
    ]);
    const resumption = await resumeIfClosed(transaction, signal, settings.publisherGraceSeconds);
    return { kind: "kept", signalId, repeated: false, resumption };
  });
}

/** Whether the run keeps as many signals as it may, and waits for no further one of this name. The run is locked. */
async function isFull(executor: Executor, { tenantId, runId, name }: NewSignal): Promise<boolean> {
  const [row] = await executor.run(BUFFERED, [tenantId, runId, name]);
  if (row === undefined) return false;
  const r = rows(row);
  return r.number("buffered") >= MAX_BUFFERED_SIGNALS && r.number("of_name") >= r.number("awaited");
}
