import { GhoulsError, type Issue, type wire } from "@ghouls/core";
import type { AdmittedRun, NewRun, Start } from "@ghouls/ledger";
import type { AdmissionRequest } from "../services.ts";

/** What became of one request: its run, new or not, or a key that was used for another request. */
export type Answer = { readonly run: AdmittedRun; readonly created: boolean } | { readonly conflict: true };

interface KeyReads {
  byKey(keys: readonly { tenantId: string; idempotencyKey: string }[]): Promise<AdmittedRun[]>;
  byId(ids: readonly { tenantId: string; runId: string }[]): Promise<AdmittedRun[]>;
}

/** Whose run each key names now: ours where it was new, the other's where the request is the same, else a conflict. */
export async function settleKeys(
  newRuns: readonly NewRun[],
  created: ReadonlyMap<string, Start>,
  reads: KeyReads,
): Promise<Answer[]> {
  const missing = newRuns.filter((run) => !created.has(run.runId));
  const keyed = missing.flatMap((run) =>
    run.idempotencyKey === null ? [] : [{ tenantId: run.tenantId, idempotencyKey: run.idempotencyKey }],
  );
  const keyless = missing.filter((run) => run.idempotencyKey === null);
  const byKey = new Map(
    (keyed.length > 0 ? await reads.byKey(keyed) : []).map((run) => [run.idempotencyKey, run]),
  );
  // Without a key a run is missing only where it was committed by a try whose answer was lost.
  const byId = new Map((keyless.length > 0 ? await reads.byId(keyless) : []).map((run) => [run.runId, run]));
  return newRuns.map((run) => {
    const start = created.get(run.runId);
    if (start !== undefined) return { run: freshRun(run, start), created: true };
    const found = run.idempotencyKey === null ? byId.get(run.runId) : byKey.get(run.idempotencyKey);
    if (found === undefined) {
      throw new GhoulsError("outcome_unknown", "the ledger neither wrote the run nor holds its key", {
        fix: "Send the request again under the same Idempotency-Key.",
        retryAfterSeconds: 1,
      });
    }
    if (found.requestDigest !== run.requestDigest) return { conflict: true };
    return { run: found, created: found.runId === run.runId };
  });
}

/** A run that was committed just now, without reading it again. */
function freshRun(run: NewRun, { startsAt, startsInSeconds }: Start): AdmittedRun {
  const { tenantId, runId, idempotencyKey, requestDigest, workflow, queue, priority, held } = run;
  return {
    tenantId,
    runId,
    idempotencyKey,
    requestDigest,
    workflow,
    queue,
    priority,
    held,
    status: "QUEUED",
    enqueueSeq: 1,
    unpublished: !held,
    startsAt,
    dueInSeconds: startsInSeconds,
  };
}

export function admittedView({ run, created }: Extract<Answer, { run: AdmittedRun }>): wire.Admitted {
  const { runId, status, enqueueSeq, workflow, queue, priority, held, startsAt } = run;
  return {
    runId,
    created,
    status,
    enqueueSeq,
    workflow,
    queue,
    priority,
    held,
    startsAt: startsAt?.toISOString() ?? null,
  };
}

export function conflict(key: string | null): GhoulsError {
  return new GhoulsError(
    "idempotency_conflict",
    `the idempotency key "${key}" was used for another request`,
    {
      fix: "Use a new key for a new request, or send the same request again.",
    },
  );
}

export async function prepareAll(
  requests: readonly AdmissionRequest[],
  prepareOne: (request: AdmissionRequest) => Promise<NewRun>,
): Promise<NewRun[]> {
  const newRuns: NewRun[] = [];
  const issues: Issue[] = [];
  let first: GhoulsError | undefined;
  for (const [index, request] of requests.entries()) {
    try {
      newRuns.push(await prepareOne(request));
    } catch (error) {
      if (!(error instanceof GhoulsError)) throw error;
      first ??= error;
      const own = error.issues ?? [{ path: "", message: error.message }];
      issues.push(...own.map((issue) => ({ path: `/runs/${index}${issue.path}`, message: issue.message })));
    }
  }
  if (first === undefined) return newRuns;
  throw new GhoulsError(first.code, `nothing was admitted: ${first.message}`, {
    issues: issues.slice(0, 50),
    ...(first.fix === undefined ? {} : { fix: first.fix }),
  });
}
