import type { Principal, wire } from "@ghouls/core";

/** What the edges call. A handler parses, calls one of these and shapes the reply. */

/** One validated request to admit a run. */
export interface AdmissionRequest {
  readonly request: wire.RunRequest;
  /** Canonical JSON of the request as it was sent, without its idempotency key: decides "same request". */
  readonly canonicalRequest: string;
  /** Canonical JSON of the input as it was sent, "null" where it is absent. */
  readonly inputText: string;
  readonly idempotencyKey?: string;
}

export interface AdmissionService {
  /**
   * Commits a run with its first delivery, then publishes it. A publication that fails is the relay's: it is no error.
   * @throws GhoulsError unknown_workflow, unknown_queue, input_invalid (with paths), too_large, idempotency_conflict,
   *   admission_busy (another transaction holds the same key), ledger_unavailable, outcome_unknown
   */
  admit(principal: Principal, request: AdmissionRequest): Promise<wire.Admitted>;
  /**
   * The same for many in one commit. Invalid members refuse the whole batch before anything is written (their paths
   * start with "/runs/<index>"); a key that was used for another request is an outcome of its member.
   */
  admitBatch(principal: Principal, requests: readonly AdmissionRequest[]): Promise<wire.BatchAdmitted>;
  /**
   * Turns a HELD delivery into a PENDING one and publishes it. A second release answers `released: false`.
   * @throws GhoulsError not_found, hold_ended (the delivery was fenced)
   */
  release(principal: Principal, runId: string): Promise<wire.Released>;
}

export interface ControlService {
  /**
   * Cancels a run: CANCELLING with its fences in one commit, CANCELLED once nothing of it can still act. Of a run that is
   * decided already it is a no-op that says what was decided.
   * @throws GhoulsError not_found
   */
  cancel(principal: Principal, runId: string, reason: string): Promise<wire.Cancelled>;
  /**
   * An operator's audited word that an item is settled.
   * @throws GhoulsError not_found (no such run, or no such open item)
   */
  resolve(principal: Principal, runId: string, item: string, reason: string): Promise<wire.Resolved>;
}

export interface RunFilter {
  readonly status?: readonly string[];
  readonly workflow?: string;
  readonly attention?: boolean;
}

export interface ReadService {
  getRun(tenantId: string, runId: string): Promise<wire.RunView | undefined>;
  /** Newest first. @throws GhoulsError invalid_request for a cursor that is not one of ours */
  listRuns(
    tenantId: string,
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<wire.RunPage>;
  getTimeline(tenantId: string, runId: string): Promise<wire.Timeline | undefined>;
}

export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}
