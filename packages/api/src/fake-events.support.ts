import { isRunId, type wire } from "@ghouls/core";
import type { EventService, Follower } from "@ghouls/engine";

type Batches = readonly wire.EventBatch[];

/** Gives what it was told to give, one answer after the other, and then nothing; an error is thrown. */
class FakeEvents implements EventService {
  answers: (Batches | Error)[] = [];
  ended = false;
  /** How often what has come was asked for. */
  questions = 0;
  readonly asked: unknown[] = [];
  present: (tenantId: string, runId: string) => boolean = (tenantId, runId) =>
    tenantId === "t1" && isRunId(runId) && !runId.startsWith("f");

  follow(tenantId: string, runId: string, after: string | undefined): Promise<Follower | undefined> {
    this.asked.push({ tenantId, runId, after });
    if (!this.present(tenantId, runId)) return Promise.resolve(undefined);
    const isDone = () => this.ended && this.answers.length === 0;
    const follower: Pick<Follower, "done" | "pauseMs" | "next"> = {
      get done() {
        return isDone();
      },
      pauseMs: 1,
      next: () => {
        this.questions += 1;
        const answer = this.answers.shift() ?? [];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([...answer]);
      },
    };
    return Promise.resolve(follower as Follower);
  }
}

/** What the route that follows a run is given beside. */
export class FakeEventParts {
  readonly events = new FakeEvents();
  readonly clock = { monotonicMs: () => performance.now(), wallMs: () => 0 };
  draining: AbortSignal = new AbortController().signal;
  streamMs: () => number = () => 60_000;
}
