import type { Claim, DeliveryRef } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const MADE = writeStatement(
  "traces.mark-made",
  `
with made as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  where d.made_in_trace is null
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set made_in_trace = $4
from made
where d.tenant_id = made.tenant_id and d.run_id = made.run_id and d.seq = made.seq`,
);

const HOP = writeStatement(
  "traces.mark-hop",
  `
update ghouls.deliveries d
set hop_trace = $5
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`,
);

const OF_CLAIMS = readStatement(
  "traces.of-claims",
  `
select d.run_id, d.made_in_trace, (
  select before.hop_trace
  from ghouls.deliveries before
  where before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq < d.seq and before.hop_trace is not null
  order by before.seq desc
  limit 1) as hop_trace
from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq`,
);

/** Where the trace of a hop comes from, as W3C traceparents. */
export interface TraceOrigins {
  /** Of the request, or the hop, that has made its run. */
  readonly madeIn: string | null;
  /** Of the hop before it. */
  readonly hopBefore: string | null;
}

/** Says in which trace first deliveries were made. For people who trace: nothing of the protocol reads it. */
export async function markMadeInTrace(
  executor: Executor,
  deliveries: readonly (RunKey & DeliveryRef)[],
  traceparent: string,
): Promise<void> {
  await executor.run(MADE, [
    deliveries.map((one) => one.tenantId),
    deliveries.map((one) => one.runId),
    deliveries.map((one) => one.enqueueSeq),
    traceparent,
  ]);
}

/** Says in which trace a claim is carried: locks its delivery alone, as a beat does. */
export async function markHopTrace(executor: Executor, claim: Claim, traceparent: string): Promise<void> {
  await executor.run(HOP, [claim.tenantId, claim.runId, claim.seq, claim.token, traceparent]);
}

/** By run; claims of one batch are of different runs. */
export async function readTraceOrigins(
  executor: Executor,
  claims: readonly Claim[],
): Promise<ReadonlyMap<string, TraceOrigins>> {
  const found = await executor.run(OF_CLAIMS, [
    claims.map((claim) => claim.tenantId),
    claims.map((claim) => claim.runId),
    claims.map((claim) => claim.seq),
  ]);
  return new Map(
    found.map((row) => {
      const r = rows(row);
      return [
        r.text("run_id"),
        { madeIn: r.textOrNull("made_in_trace"), hopBefore: r.textOrNull("hop_trace") },
      ];
    }),
  );
}
