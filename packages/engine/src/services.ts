import type { AttemptStatus, Caller, ConsentStatus, JobReport, Principal, Verdict, wire } from "@ghouls/core";

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
  /**
   * Makes a new run of one that is FAILED or CANCELLED, which goes on from the last good step, by the authority of whoever
   * asks, and publishes it. The same word of the same person again answers the same run.
   * @throws GhoulsError not_found, not_redrivable (the first issue's path is the name of why), redriven_before (with what
   *   it was redriven as)
   */
  redrive(principal: Principal, runId: string, reason: string): Promise<wire.Redriven>;
}

export interface ControlService {
  /**
   * Cancels a run: CANCELLING with its fences in one commit, CANCELLED once nothing of it can still act. Of a run that is
   * decided already it is a no-op that says what was decided.
   * @throws GhoulsError not_found
   */
  cancel(principal: Principal, runId: string, reason: string): Promise<wire.Cancelled>;
  /**
   * Cancels a page of the runs that a filter means, each in a commit of its own, or only lists them. The cursor of the answer
   * goes on where the page ended.
   * @throws GhoulsError invalid_request (no filter at all, or a cursor that is not one of ours)
   */
  cancelMatching(principal: Principal, request: wire.CancelMatchingRequest): Promise<wire.CancelledMatching>;
  /**
   * Ends a quarantine with a reason, which is kept: what arrived meanwhile brings the run back. Where the probes and undos of
   * an ending were tried in vain, has them tried again.
   * @throws GhoulsError not_found
   */
  clear(principal: Principal, runId: string, reason: string): Promise<wire.Cleared>;
  /**
   * Pauses a run: nothing of it is taken up, and whoever carries it lets go of it between two steps. Of a run that is paused,
   * is ending or has ended it is a no-op that says so.
   * @throws GhoulsError not_found
   */
  pause(principal: Principal, runId: string, reason: string): Promise<wire.RunPaused>;
  /**
   * Ends the pause of a run; it goes on unless another one holds it.
   * @throws GhoulsError not_found
   */
  unpause(principal: Principal, runId: string, reason: string): Promise<wire.RunUnpaused>;
  /**
   * An operator's audited word that an item is settled.
   * @throws GhoulsError not_found (no such run, or no such open item), attempt_under_way (the job of the item may still be sent), child_open (the item is a child's)
   */
  resolve(principal: Principal, runId: string, item: string, reason: string): Promise<wire.Resolved>;
}

export interface PauseService {
  /** Those that hold runs of the tenant, the deployment's among them. */
  list(tenantId: string): Promise<wire.PauseList>;
  /**
   * Pauses the caller's tenant, a workflow in it, or all runs of the deployment.
   * @throws GhoulsError forbidden (all of them, without the permission for that), ledger_unavailable
   */
  set(caller: Caller, request: wire.PauseRequest): Promise<wire.PauseSet>;
  /**
   * Lifts a pause: what it held is published anew.
   * @throws GhoulsError not_found, forbidden (it is the deployment's)
   */
  lift(caller: Caller, pauseId: string, reason: string): Promise<wire.PauseLifted>;
}

/** Spans tenants: its routes ask for a permission that reaches the whole deployment. */
export interface ReconcilerService {
  /**
   * How far the passes have come, who stands aside, and the newest repairs.
   * @throws GhoulsError invalid_request for a cursor that is not one of ours
   */
  state(page: {
    readonly limit: number;
    readonly cursor?: string;
    readonly degradedCursor?: string;
  }): Promise<wire.ReconcilerState>;
  /**
   * Runs passes within its own time, or says what they would do. Those that ask somebody else are left to the reconciler, which
   * is told to come.
   */
  run(request: wire.PassesRequest): Promise<wire.PassesRun>;
}

export interface IntegrityService {
  /**
   * Faults of the caller's tenant, and those of the deployment for whoever may see them; the open ones first, each part newest
   * first. @throws GhoulsError invalid_request for a cursor that is not one of ours
   */
  list(
    caller: Caller,
    filter: { readonly openOnly: boolean },
    page: { limit: number; cursor?: string },
  ): Promise<wire.FaultPage>;
  /**
   * The caller's word that they know of a fault: it stops no start and no deploy any more while it stands.
   * @throws GhoulsError not_found
   */
  acknowledge(caller: Caller, faultId: string, reason: string): Promise<wire.FaultAcknowledged>;
}

export interface ConsentFilter {
  readonly runId?: string;
  readonly status?: ConsentStatus;
}

export interface ConsentService {
  get(tenantId: string, consentId: string): Promise<wire.ConsentView | undefined>;
  /** Newest first. @throws GhoulsError invalid_request for a cursor that is not one of ours */
  list(
    tenantId: string,
    filter: ConsentFilter,
    page: { limit: number; cursor?: string },
  ): Promise<wire.ConsentPage>;
  /** Those that this principal may decide and has not, newest first. @throws as `list` */
  inbox(principal: Principal, page: { limit: number; cursor?: string }): Promise<wire.ConsentPage>;
  /**
   * One word about a consent, of the principal alone. It names the digest of the request that was shown. The last word that
   * the consent needs brings its run back in the same commit.
   * @throws GhoulsError not_found, not_a_decider, consent_changed, consent_closed (with who was faster)
   */
  decide(
    principal: Principal,
    consentId: string,
    decision: { readonly verdict: Verdict; readonly digest: string; readonly comment?: string },
  ): Promise<wire.Decided>;
}

export interface SignalService {
  /**
   * Keeps a signal for a run. One that comes before it is waited for is kept until then.
   * @throws GhoulsError not_found, run_ended, idempotency_conflict, too_many_signals
   */
  send(
    principal: Principal,
    runId: string,
    signal: {
      readonly name: string;
      /** Canonical JSON; undefined for none. */
      readonly payloadText: string | undefined;
      readonly idempotencyKey?: string;
    },
  ): Promise<wire.Signalled>;
}

export interface AttemptFilter {
  readonly runId?: string;
  readonly status?: AttemptStatus;
}

export interface AttemptService {
  get(tenantId: string, attemptId: string): Promise<wire.AttemptView | undefined>;
  /** Newest first. @throws GhoulsError invalid_request for a cursor that is not one of ours */
  list(
    tenantId: string,
    filter: AttemptFilter,
    page: { limit: number; cursor?: string },
  ): Promise<wire.AttemptPage>;
  /**
   * What a service reports of a job, by the token that came with its submission. What ends the job brings its run back in
   * the same commit, and uses the token up.
   * @throws GhoulsError unauthenticated (no such attempt, another token, or its time is over), attempt_settled, invalid_request, codec_unavailable
   */
  report(attemptId: string, token: string | undefined, report: JobReport): Promise<wire.Reported>;
  /**
   * An operator's audited word about a job of which nobody knows.
   * @throws GhoulsError not_found, attempt_settled (it is not UNCERTAIN), attempt_under_way (it may still be sent), invalid_request, codec_unavailable
   */
  resolve(
    principal: Principal,
    attemptId: string,
    word: wire.AttemptResolution,
  ): Promise<wire.AttemptResolved>;
}

/** Runs that all of it means; times are of their admission. */
export interface RunFilter {
  readonly status?: readonly string[];
  readonly workflow?: string;
  readonly parentRunId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly after?: Date;
  readonly before?: Date;
  readonly attention?: boolean;
}

export type CountFilter = Pick<RunFilter, "workflow" | "labels">;

export interface ReadService {
  getRun(tenantId: string, runId: string): Promise<wire.RunView | undefined>;
  /** Newest first. @throws GhoulsError invalid_request for a cursor that is not one of ours */
  listRuns(
    tenantId: string,
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<wire.RunPage>;
  getTimeline(tenantId: string, runId: string): Promise<wire.Timeline | undefined>;
  /**
   * What is kept of a run for people.
   * @throws GhoulsError invalid_request for a cursor that is not one of ours
   */
  getEvidence(
    tenantId: string,
    runId: string,
    page: { limit: number; cursor?: string },
  ): Promise<wire.RunEvidence | undefined>;
  /** By the time of admission, over so many hours back from now. */
  countRuns(tenantId: string, filter: CountFilter, hours: number): Promise<wire.RunCounts>;
  listPinned(tenantId: string): Promise<wire.PinnedList>;
}

export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}
