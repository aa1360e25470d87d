import { isTerminalRun, wire } from "@ghouls/core";
import { createTransport, pause, type CallOptions, type ClientOptions, type Transport } from "./transport.ts";
import { follow, type FollowOptions } from "./follow.ts";
import type { AttemptQuery, ConsentQuery, FaultQuery, PollOptions, SubmitOptions } from "./queries.ts";
import { pathOf, searchOf } from "./address.ts";
import { reads, type Reads } from "./reads.ts";
import { runOf, type Run } from "./run.ts";
import type { InputOf, NamedWorkflows, OutputOf } from "./workflows.ts";

/** Beside the input: how the run is asked for. */
export type StartOptions = SubmitOptions & Omit<wire.RunRequest, "workflow" | "input">;

/** A client of the HTTP API; with the workflows of a module as its type, starting one is typed by it. */
export interface GhoulsClient<Workflows = Untyped> extends Reads {
  /**
   * Asks for a run of a workflow by its name. Where no answer comes it asks again under the same key, as `submit`.
   * `createClient<typeof workflows>(…)`, after `import type * as workflows from "./workflows/index.ts"`, knows names, inputs and outputs.
   */
  start<Name extends keyof NamedWorkflows<Workflows> & string>(
    workflow: Name,
    input: InputOf<NamedWorkflows<Workflows>[Name]>,
    options?: StartOptions,
  ): Promise<Run<OutputOf<NamedWorkflows<Workflows>[Name]>>>;
  /** A run that is there; nothing is asked yet. */
  run<Output = unknown>(runId: string): Run<Output>;
  /** The batches of a run's events, in order, each once, until the run has ended. */
  follow(runId: string, options?: FollowOptions): AsyncGenerator<wire.EventBatch, void, undefined>;
  /**
   * Asks for a run. Where no answer comes it asks again, a bounded number of times, under the same key, so that at most
   * one run is made.
   */
  submit(request: wire.RunRequest, options?: SubmitOptions): Promise<wire.Admitted>;
  /** Asks for many in one commit. Members without a key get a random one. */
  submitBatch(request: wire.BatchRequest, options?: CallOptions): Promise<wire.BatchAdmitted>;
  /** Releases a held run. `released` is false where it had been released before, also by a try of this call. */
  release(runId: string, options?: CallOptions): Promise<wire.Released>;
  /** Cancels a run, with a reason that is kept. `cancelled` is false where it had been decided before. */
  cancel(runId: string, reason: string, options?: CallOptions): Promise<wire.Cancelled>;
  /**
   * Cancels a page of the runs that a filter means, or only tells which. Ask again with `nextCursor` until it is null. A page
   * that is asked for again finds its runs decided before.
   */
  cancelMatching(request: wire.CancelMatchingRequest, options?: CallOptions): Promise<wire.CancelledMatching>;
  /**
   * Makes a new run of one that is FAILED or CANCELLED, which goes on from its last good step. The same reason again answers
   * the same run, with `created` false.
   */
  redrive(runId: string, reason: string, options?: CallOptions): Promise<wire.Redriven>;
  /** An operator's audited word that a containment item is settled. */
  resolveItem(runId: string, item: string, reason: string, options?: CallOptions): Promise<wire.Resolved>;
  /**
   * Ends a run's quarantine, or has the probes and undos of its ending tried again, with a reason that is kept. `cleared` is false
   * where there was neither.
   */
  clear(runId: string, reason: string, options?: CallOptions): Promise<wire.Cleared>;
  /** Pauses a run, with a reason that is kept. `paused` is false where it was before, or is ending or has ended. */
  pause(runId: string, reason: string, options?: CallOptions): Promise<wire.RunPaused>;
  /** Ends the pause of a run. `unpaused` is false where it had none; `pauses` has what holds it still. */
  unpause(runId: string, reason: string, options?: CallOptions): Promise<wire.RunUnpaused>;
  /** Pauses the tenant of the token, a workflow in it, or everything. `created` is false where that was paused before. */
  setPause(request: wire.PauseRequest, options?: CallOptions): Promise<wire.PauseSet>;
  /** Lifts a pause, with a reason that is kept. `lifted` is false where it had been lifted before. */
  liftPause(pauseId: string, reason: string, options?: CallOptions): Promise<wire.PauseLifted>;
  /**
   * How far the passes of the reconciler have come, what stands aside, and the newest repairs, of every tenant. Needs the
   * permission `deployment:reconcile`.
   */
  getReconciler(
    page?: { readonly limit?: number; readonly cursor?: string; readonly degradedCursor?: string },
    options?: CallOptions,
  ): Promise<wire.ReconcilerState>;
  /** Runs passes of the reconciler now, or says what they would do. Needs the permission `deployment:reconcile`. */
  runPasses(request?: wire.PassesRequest, options?: CallOptions): Promise<wire.PassesRun>;
  /** The pauses that hold the tenant's runs, beside those of single runs. */
  listPauses(options?: CallOptions): Promise<wire.PauseList>;
  /** What judgements of the ledger have found, the open faults first. */
  listFaults(query?: FaultQuery): Promise<wire.FaultPage>;
  /** Says that a fault is known, and why it may stand. `acknowledged` is false where somebody was first, or it is gone. */
  acknowledgeFault(faultId: string, reason: string, options?: CallOptions): Promise<wire.FaultAcknowledged>;
  /**
   * Sends a signal to a run. Where no answer comes it asks again under the same key, so that the run gets it once.
   * @param payload any JSON; undefined for none
   */
  signal(runId: string, name: string, payload?: unknown, options?: SubmitOptions): Promise<wire.Signalled>;
  /**
   * Grants or denies a consent. The digest is that of the request that was shown, from `getConsent`: a decision about
   * another request is refused.
   */
  decide(consentId: string, decision: wire.DecisionRequest, options?: CallOptions): Promise<wire.Decided>;
  getConsent(consentId: string, options?: CallOptions): Promise<wire.ConsentView>;
  /** One page, newest first. */
  listConsents(query?: ConsentQuery): Promise<wire.ConsentPage>;
  /** A delegated job: what was asked of whom, and what came of it. */
  getAttempt(attemptId: string, options?: CallOptions): Promise<wire.AttemptView>;
  /** One page, newest first. */
  listAttempts(query?: AttemptQuery): Promise<wire.AttemptPage>;
  /** An operator's audited word about a job that is UNCERTAIN. */
  resolveAttempt(
    attemptId: string,
    word: wire.AttemptResolution,
    options?: CallOptions,
  ): Promise<wire.AttemptResolved>;
  /** The run, once it has ended: DONE, FAILED or CANCELLED. */
  waitForRun(runId: string, options?: PollOptions): Promise<wire.RunView>;
}

/**
 * A client of the HTTP API (design.md §6). Every answer is checked against the wire schemas.
 * Each call throws ProblemError for a refusal, UnreachableError where no answer came, and the reason of its signal.
 */
export function createClient<Workflows = Untyped>(options: ClientOptions): GhoulsClient<Workflows> {
  const call = createTransport(options);
  const sleep = options.sleep ?? pause;
  const client: GhoulsClient<Untyped> = {
    ...writes(call),
    ...reads(call),
    ...pauses(call),
    ...reconciler(call),
    ...faults(call),
    ...waits(call),
    ...jobs(call),
    start: async (workflow, input, { idempotencyKey, signal, ...request } = {}) => {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const admitted = await client.submit({ ...request, workflow, input }, { ...key, ...only(signal) });
      return runOf(client, admitted.runId, admitted.created);
    },
    run: (runId) => runOf(client, runId, undefined),
    follow: (runId, follows) => follow(options, call, runId, follows),
    async waitForRun(runId, { pollMs = 1_000, signal } = {}) {
      for (;;) {
        const run = await client.getRun(runId, only(signal));
        if (isTerminalRun(run.status)) return run;
        await sleep(pollMs, signal);
      }
    },
  };
  return client as unknown as GhoulsClient<Workflows>;
}

/** Any name, with anything. */
type Untyped = Readonly<Record<string, { name: string; input: unknown; run(): Promise<unknown> }>>;

const only = (signal: AbortSignal | undefined): CallOptions => (signal === undefined ? {} : { signal });

function writes(
  call: Transport,
): Pick<
  GhoulsClient,
  "submit" | "submitBatch" | "release" | "cancel" | "cancelMatching" | "redrive" | "resolveItem" | "clear"
> {
  return {
    submit: (request, { idempotencyKey = crypto.randomUUID(), signal } = {}) =>
      call({
        method: "POST",
        path: "/v1/runs",
        schema: wire.Admitted,
        body: request,
        headers: { "idempotency-key": idempotencyKey },
        signal,
      }),
    submitBatch: (request, { signal } = {}) =>
      call({
        method: "POST",
        path: "/v1/runs/batch",
        schema: wire.BatchAdmitted,
        body: {
          runs: request.runs.map((run) => ({
            ...run,
            idempotencyKey: run.idempotencyKey ?? crypto.randomUUID(),
          })),
        },
        signal,
      }),
    release: (runId, { signal } = {}) =>
      call({ method: "POST", path: pathOf(runId, "/release"), schema: wire.Released, signal }),
    cancel: (runId, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, "/cancel"),
        schema: wire.Cancelled,
        body: { reason },
        signal,
      }),
    cancelMatching: (request, { signal } = {}) =>
      call({
        method: "POST",
        path: "/v1/runs/cancel",
        schema: wire.CancelledMatching,
        body: request,
        signal,
      }),
    redrive: (runId, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, "/redrive"),
        schema: wire.Redriven,
        body: { reason },
        signal,
      }),
    clear: (runId, reason, { signal } = {}) =>
      call({ method: "POST", path: pathOf(runId, "/clear"), schema: wire.Cleared, body: { reason }, signal }),
    resolveItem: (runId, item, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, `/items/${encodeURIComponent(item)}/resolution`),
        schema: wire.Resolved,
        body: { reason },
        signal,
      }),
  };
}

function pauses(
  call: Transport,
): Pick<GhoulsClient, "pause" | "unpause" | "setPause" | "liftPause" | "listPauses"> {
  return {
    pause: (runId, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, "/pause"),
        schema: wire.RunPaused,
        body: { reason },
        signal,
      }),
    unpause: (runId, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, "/unpause"),
        schema: wire.RunUnpaused,
        body: { reason },
        signal,
      }),
    setPause: (request, { signal } = {}) =>
      call({ method: "POST", path: "/v1/pauses", schema: wire.PauseSet, body: request, signal }),
    liftPause: (pauseId, reason, { signal } = {}) =>
      call({
        method: "DELETE",
        path: `/v1/pauses/${encodeURIComponent(pauseId)}?${new URLSearchParams({ reason }).toString()}`,
        schema: wire.PauseLifted,
        signal,
      }),
    listPauses: ({ signal } = {}) =>
      call({ method: "GET", path: "/v1/pauses", schema: wire.PauseList, signal }),
  };
}

function reconciler(call: Transport): Pick<GhoulsClient, "getReconciler" | "runPasses"> {
  return {
    getReconciler: (page = {}, { signal } = {}) =>
      call({ method: "GET", path: `/v1/reconciler${searchOf(page)}`, schema: wire.ReconcilerState, signal }),
    runPasses: (request = {}, { signal } = {}) =>
      call({ method: "POST", path: "/v1/reconciler/passes", schema: wire.PassesRun, body: request, signal }),
  };
}

function faults(call: Transport): Pick<GhoulsClient, "listFaults" | "acknowledgeFault"> {
  return {
    listFaults: ({ signal, open, ...query } = {}) =>
      call({
        method: "GET",
        path: `/v1/integrity${searchOf({ ...query, ...(open === true ? { open } : {}) })}`,
        schema: wire.FaultPage,
        signal,
      }),
    acknowledgeFault: (faultId, reason, { signal } = {}) =>
      call({
        method: "POST",
        path: `/v1/integrity/${encodeURIComponent(faultId)}/acknowledgement`,
        schema: wire.FaultAcknowledged,
        body: { reason },
        signal,
      }),
  };
}

function waits(call: Transport): Pick<GhoulsClient, "signal" | "decide" | "getConsent" | "listConsents"> {
  const consentPath = (id: string, suffix = "") => `/v1/consents/${encodeURIComponent(id)}${suffix}`;
  return {
    signal: (runId, name, payload, { idempotencyKey = crypto.randomUUID(), signal } = {}) =>
      call({
        method: "POST",
        path: pathOf(runId, `/signals/${encodeURIComponent(name)}`),
        schema: wire.Signalled,
        body: payload === undefined ? {} : { payload },
        headers: { "idempotency-key": idempotencyKey },
        signal,
      }),
    decide: (consentId, decision, { signal } = {}) =>
      call({
        method: "POST",
        path: consentPath(consentId, "/decision"),
        schema: wire.Decided,
        body: decision,
        signal,
      }),
    getConsent: (consentId, { signal } = {}) =>
      call({ method: "GET", path: consentPath(consentId), schema: wire.ConsentView, signal }),
    listConsents: ({ signal, mine, ...query } = {}) =>
      call({
        method: "GET",
        path: `/v1/consents${searchOf({ ...query, ...(mine === true ? { mine } : {}) })}`,
        schema: wire.ConsentPage,
        signal,
      }),
  };
}

function jobs(call: Transport): Pick<GhoulsClient, "getAttempt" | "listAttempts" | "resolveAttempt"> {
  const path = (id: string, suffix = "") => `/v1/attempts/${encodeURIComponent(id)}${suffix}`;
  return {
    getAttempt: (attemptId, { signal } = {}) =>
      call({ method: "GET", path: path(attemptId), schema: wire.AttemptView, signal }),
    listAttempts: ({ signal, ...query } = {}) =>
      call({ method: "GET", path: `/v1/attempts${searchOf(query)}`, schema: wire.AttemptPage, signal }),
    resolveAttempt: (attemptId, word, { signal } = {}) =>
      call({
        method: "POST",
        path: path(attemptId, "/resolution"),
        schema: wire.AttemptResolved,
        body: word,
        signal,
      }),
  };
}
