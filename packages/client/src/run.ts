import type { wire } from "@ghouls/core";
import type { FollowOptions } from "./follow.ts";
import type { PollOptions, SubmitOptions } from "./queries.ts";
import type { CallOptions } from "./transport.ts";

/** A run, as a client holds on to it: its id, and what may be asked of it. */
export interface Run<Output = unknown> {
  readonly id: string;
  /** Whether asking for it has made it; false where the same request had been made before, undefined where nothing was asked. */
  readonly created: boolean | undefined;
  /** As it stands. */
  view(options?: CallOptions): Promise<wire.RunView>;
  /**
   * What it gives once it is DONE.
   * @throws RunEndedError where it has FAILED, or was CANCELLED
   */
  result(options?: PollOptions): Promise<Output>;
  /** What happens to it and what it says, in order, each once, until it has ended: `for await (const event of run.events())`. */
  events(options?: FollowOptions): AsyncGenerator<wire.RunEvent, void, undefined>;
  /** The same in batches. Whoever keeps the id of the last one that was handled goes on behind it later, by `after`. */
  batches(options?: FollowOptions): AsyncGenerator<wire.EventBatch, void, undefined>;
  cancel(reason: string, options?: CallOptions): Promise<wire.Cancelled>;
  signal(name: string, payload?: unknown, options?: SubmitOptions): Promise<wire.Signalled>;
}

/** The end of a run that gave no result. */
export class RunEndedError extends Error {
  readonly runId: string;
  readonly status: "FAILED" | "CANCELLED";
  /** Why it failed, such as `step_failed`; null for a run that was cancelled. */
  readonly code: string | null;
  /** What it failed with; null for one that was cancelled, and where retention has emptied it. */
  readonly failure: wire.RunView["error"];

  constructor(view: Pick<wire.RunView, "runId" | "errorCode" | "error">, status: "FAILED" | "CANCELLED") {
    const why = view.error === null ? "" : `: ${view.error.message}`;
    super(`run ${view.runId} is ${status}${status === "FAILED" ? ` (${view.errorCode})${why}` : ""}`);
    this.name = "RunEndedError";
    this.runId = view.runId;
    this.status = status;
    this.code = view.errorCode;
    this.failure = view.error;
  }
}

/** What a run asks of its client. */
interface Calls {
  getRun(runId: string, options?: CallOptions): Promise<wire.RunView>;
  waitForRun(runId: string, options?: PollOptions): Promise<wire.RunView>;
  follow(runId: string, options?: FollowOptions): AsyncGenerator<wire.EventBatch, void, undefined>;
  cancel(runId: string, reason: string, options?: CallOptions): Promise<wire.Cancelled>;
  signal(runId: string, name: string, payload?: unknown, options?: SubmitOptions): Promise<wire.Signalled>;
}

/** A run of a client; nothing is asked for it. */
export function runOf<Output>(client: Calls, id: string, created: boolean | undefined): Run<Output> {
  return {
    id,
    created,
    view: (options) => client.getRun(id, options),
    result: async (options) => {
      const view = await client.waitForRun(id, options);
      if (view.status === "FAILED" || view.status === "CANCELLED") throw new RunEndedError(view, view.status);
      return view.output as Output;
    },
    async *events(options) {
      for await (const { events } of client.follow(id, options)) yield* events;
    },
    batches: (options) => client.follow(id, options),
    cancel: (reason, options) => client.cancel(id, reason, options),
    signal: (name, payload, options) => client.signal(id, name, payload, options),
  };
}
