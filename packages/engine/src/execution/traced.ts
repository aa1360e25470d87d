import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { errorInLog, nameInLog } from "@ghouls/core";
import type { ClaimedRun, TraceOrigins } from "@ghouls/ledger";
import { inSpan, traceparentOf, type Told } from "../tracing.ts";
import type { Carried } from "./carried.ts";
import type { ExecutionDeps } from "./deps.ts";

/**
 * A batch of messages begins a trace of its own. Each hop of an admission goes on with its caller's trace; one that was
 * brought back begins a new one, linked to the hop before it, which may have ended weeks ago.
 */
export function tracedBatch<T>(
  queue: string,
  messages: number,
  run: (carryTraced: CarryTraced) => Promise<T>,
  deps: Pick<ExecutionDeps, "ledger" | "log">,
): Promise<T> {
  const attributes = { "messaging.system": "aws_sqs", "messaging.destination.name": queue, messages };
  return inSpan("ghouls.work", { kind: SpanKind.CONSUMER, parent: null, attributes }, (span) => {
    const batch = traceparentOf(span);
    return run(batch === undefined ? untraced : (claims, carry) => carryEach(claims, carry, batch, deps));
  });
}

/** Carries each claim, in a span where somebody traces. The results are in the order in which they come. */
export type CarryTraced = (
  claims: readonly ClaimedRun[],
  carry: (claim: ClaimedRun) => Promise<Carried>,
) => Promise<void>;

const untraced: CarryTraced = async (claims, carry) => {
  await Promise.all(claims.map(carry));
};

async function carryEach(
  claims: readonly ClaimedRun[],
  carry: (claim: ClaimedRun) => Promise<Carried>,
  batch: string,
  deps: Pick<ExecutionDeps, "ledger" | "log">,
): Promise<void> {
  const origins = await originsOf(claims, deps);
  await Promise.all(
    claims.map((claim) => {
      const { madeIn, hopBefore } = origins.get(claim.runId) ?? { madeIn: null, hopBefore: null };
      const admitted = claim.cause === "admitted";
      const start = {
        kind: SpanKind.CONSUMER,
        parent: admitted ? madeIn : null,
        links: admitted ? [batch] : [hopBefore, batch],
        attributes: {
          "ghouls.tenant_id": claim.tenantId,
          "ghouls.run_id": claim.runId,
          "ghouls.enqueue_seq": claim.seq,
          "ghouls.cause": claim.cause,
          "ghouls.workflow": claim.workflow.name,
          "ghouls.workflow_version": claim.workflow.version,
        },
      };
      return inSpan("ghouls.hop", start, async (span) => {
        const marked = mark(claim, span, deps);
        say(span, await carry(claim));
        await marked;
      });
    }),
  );
}

async function originsOf(
  claims: readonly ClaimedRun[],
  { ledger, log }: Pick<ExecutionDeps, "ledger" | "log">,
): Promise<ReadonlyMap<string, TraceOrigins>> {
  try {
    return claims.length === 0 ? new Map() : await ledger.traces.ofClaims(claims);
  } catch (error) {
    // A hop that nobody can place is traced all the same.
    log.warn("the traces of a batch could not be read", { error: errorInLog(error) });
    return new Map();
  }
}

/** For the hop after it. A run does not fail for it. */
async function mark(
  claim: ClaimedRun,
  span: Told,
  { ledger, log }: Pick<ExecutionDeps, "ledger" | "log">,
): Promise<void> {
  try {
    await ledger.traces.markHop(claim, traceparentOf(span) ?? "");
  } catch (error) {
    log.warn("the trace of a hop could not be kept", { runId: claim.runId, error: errorInLog(error) });
  }
}

function say(span: Told, carried: Carried): void {
  const outcome = carried.kind === "settled" || carried.kind === "parked" ? carried.status : carried.kind;
  span.setAttribute("ghouls.outcome", outcome);
  if (carried.kind === "settled" && carried.code !== undefined)
    span.setStatus({ code: SpanStatusCode.ERROR, message: nameInLog(carried.code) });
  else if (carried.kind === "unknown")
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorInLog(carried.error) });
}
