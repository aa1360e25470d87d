import { wire } from "@ghouls/core";
import type { CountQuery, EvidenceQuery, RunQuery } from "./queries.ts";
import { pathOf, searchOf } from "./address.ts";
import type { CallOptions, Transport } from "./transport.ts";

/** What is asked about runs, workflows and the token itself. */
export interface Reads {
  getRun(runId: string, options?: CallOptions): Promise<wire.RunView>;
  /** One page, newest first. */
  listRuns(query?: RunQuery): Promise<wire.RunPage>;
  getTimeline(runId: string, options?: CallOptions): Promise<wire.Timeline>;
  /**
   * What is kept of a run for people: its terminal record with its seal, what came too late, and copies of its steps, a page
   * at a time.
   */
  getEvidence(runId: string, options?: EvidenceQuery): Promise<wire.RunEvidence>;
  /** Runs over time: when they were admitted, by their status now. */
  countRuns(query?: CountQuery): Promise<wire.RunCounts>;
  /** The code that runs which have not ended are pinned to: what a deploy would strand. */
  listPinned(options?: CallOptions): Promise<wire.PinnedList>;
  listWorkflows(options?: CallOptions): Promise<wire.WorkflowList>;
  /** Whom the token speaks for, and what they may do. */
  whoami(options?: CallOptions): Promise<wire.Whoami>;
}

export function reads(call: Transport): Reads {
  return {
    getRun: (runId, { signal } = {}) =>
      call({ method: "GET", path: pathOf(runId), schema: wire.RunView, signal }),
    listRuns: ({ signal, ...query } = {}) =>
      call({ method: "GET", path: `/v1/runs${searchOf(query)}`, schema: wire.RunPage, signal }),
    getTimeline: (runId, { signal } = {}) =>
      call({ method: "GET", path: pathOf(runId, "/timeline"), schema: wire.Timeline, signal }),
    getEvidence: (runId, { signal, ...query } = {}) =>
      call({
        method: "GET",
        path: pathOf(runId, `/evidence${searchOf(query)}`),
        schema: wire.RunEvidence,
        signal,
      }),
    listWorkflows: ({ signal } = {}) =>
      call({ method: "GET", path: "/v1/workflows", schema: wire.WorkflowList, signal }),
    countRuns: ({ signal, ...query } = {}) =>
      call({ method: "GET", path: `/v1/runs/counts${searchOf(query)}`, schema: wire.RunCounts, signal }),
    listPinned: ({ signal } = {}) =>
      call({ method: "GET", path: "/v1/workflows/pinned", schema: wire.PinnedList, signal }),
    whoami: ({ signal } = {}) => call({ method: "GET", path: "/v1/whoami", schema: wire.Whoami, signal }),
  };
}
