import {
  GhoulsError,
  isTerminalRun,
  type CallKind,
  type Jsonified,
  type RunStatus,
  type Verdict,
  type wire,
} from "@ghouls/core";
import { principalOf, type Actor } from "./actor.ts";
import type { Driver } from "./driver.ts";
import { RunFailedError, RunWaitsError } from "./errors.ts";
import { jsonTextOf } from "./json-text.ts";
import type { Parts } from "./parts.ts";
import { isTitled } from "./script.ts";
import { streamedIn, type StreamedChunk } from "./streamed.ts";
import { told } from "./told.ts";
import { whyItWaits } from "./why-it-waits.ts";

export interface DecideOptions {
  /** Who decides: has to be among the consent's deciders, by subject or by role. */
  readonly as: Actor;
  readonly comment?: string;
  /** Of the request that was shown; of the one that is open where absent. */
  readonly digest?: string;
}

export interface SignalOptions {
  /** "service:test" where absent. */
  readonly as?: Actor;
  /** The same key is the same signal. */
  readonly idempotencyKey?: string;
}

/** An entry of a run's journal: a step that has ended, or a wait that has closed. */
export interface JournaledCall {
  readonly kind: CallKind;
  readonly name: string;
  readonly outcome: "ok" | "error";
  /** How often the function was called. */
  readonly tries: number;
}

export interface TestRunParts extends Pick<
  Parts,
  "reads" | "consents" | "signals" | "attempts" | "control" | "jobs" | "workers" | "live"
> {
  readonly tenantId: string;
  readonly driver: Driver;
  /** What was warned of a run, the latest last. */
  readonly warningsOf: (runId: string) => readonly string[];
}

const OPERATOR: Actor = { subject: "user:operator", roles: ["operator"] };
const SIGNALLER: Actor = { subject: "service:test" };

/**
 * One run of a test. It moves only in calls that wait for it (`consent`, `decide`, `result`, `carryOn`, and
 * `ghouls.clock.advance`); what else is called reads, or acts, at once.
 */
export class TestRun<Output> {
  readonly id: string;
  readonly #parts: TestRunParts;

  constructor(id: string, parts: TestRunParts) {
    this.id = id;
    this.#parts = parts;
  }

  /**
   * What the workflow returned, by way of JSON. Carries the run on, and moves the clock to what is due next where all of it
   * waits.
   * @throws RunFailedError where the run is FAILED or CANCELLED; RunWaitsError where nothing will ever bring it further
   */
  result(): Promise<Jsonified<Output>> {
    return told(() =>
      this.#reach(async () => {
        const view = await this.view();
        if (view.status === "DONE") return { value: view.output as Jsonified<Output> };
        if (isTerminalRun(view.status)) throw new RunFailedError(view);
        return undefined;
      }),
    );
  }

  /**
   * The consent of this title, once it is open; any where absent. Carries the run on as `result` does.
   * @throws RunFailedError, RunWaitsError; GhoulsError run_ended where the run is DONE and has not asked
   */
  consent(title?: string | RegExp): Promise<wire.ConsentView> {
    return told(() => this.#untilAsked(title));
  }

  #untilAsked(title: string | RegExp | undefined): Promise<wire.ConsentView> {
    return this.#reach(async () => {
      const open = (await this.#consents()).find(
        (consent) => consent.status === "PENDING" && isTitled(title, consent),
      );
      if (open !== undefined) return { value: await this.#consent(open) };
      const view = await this.view();
      if (view.status === "FAILED" || view.status === "CANCELLED") throw new RunFailedError(view);
      if (view.status !== "DONE") return undefined;
      const which = title === undefined ? "a consent" : `the consent ${String(title)}`;
      throw new GhoulsError("run_ended", `the run is DONE, and ${which} is not open`, {
        fix: "run.steps() says what it did.",
      });
    });
  }

  /**
   * One word about a consent, as over the API: its digest, its deciders and its quorum hold. A consent that has not been
   * asked for yet is waited for, as `consent` does; one that is closed refuses.
   * @throws GhoulsError not_a_decider, consent_changed, consent_closed, besides what `consent` throws
   */
  decide(title: string | RegExp, verdict: Verdict, options: DecideOptions): Promise<wire.Decided> {
    return told(() => this.#decideOnce(title, verdict, options));
  }

  async #decideOnce(title: string | RegExp, verdict: Verdict, options: DecideOptions): Promise<wire.Decided> {
    const { driver, workers } = this.#parts;
    const decide = (which: "open" | "any") => driver.act(this.#decideIfAsked(title, which, verdict, options));
    const decided = await decide("open");
    if (decided !== undefined) return decided;
    if (workers.isInside) {
      throw new GhoulsError("not_found", `the consent ${String(title)} is not open`, {
        fix: "Decide it in the test, where it can be waited for.",
      });
    }
    // The run may be about to ask, once more perhaps; where it never does, the closed one says why.
    await this.carryOn();
    const now = await decide("open");
    if (now !== undefined) return now;
    let next: wire.ConsentView;
    try {
      next = await this.#untilAsked(title);
    } catch (error) {
      const closed = await decide("any");
      if (closed === undefined) throw error;
      return closed;
    }
    return driver.act(this.#decide(next, verdict, options));
  }

  /**
   * Sends a signal. One that comes before it is waited for is kept until then.
   * @throws GhoulsError run_ended, idempotency_conflict, too_many_signals
   */
  async signal(name: string, payload?: unknown, options: SignalOptions = {}): Promise<wire.Signalled> {
    const { tenantId, driver, signals } = this.#parts;
    const { as = SIGNALLER, idempotencyKey } = options;
    return told(() =>
      driver.act(
        signals.send(principalOf(tenantId, as), this.id, {
          name,
          payloadText: jsonTextOf(payload),
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        }),
      ),
    );
  }

  /** Asks for the run's end. It is CANCELLED once nothing of it can still act: `result` and `carryOn` bring it there. */
  cancel(reason = "a test cancels it"): Promise<wire.Cancelled> {
    const { tenantId, driver, control } = this.#parts;
    return told(() => driver.act(control.cancel(principalOf(tenantId, OPERATOR), this.id, reason)));
  }

  /** An operator's word that a containment item is settled: `view().containment` has their ids. */
  resolve(item: string, reason: string): Promise<wire.Resolved> {
    const { tenantId, driver, control } = this.#parts;
    return told(() => driver.act(control.resolve(principalOf(tenantId, OPERATOR), this.id, item, reason)));
  }

  /** An operator's word that a quarantine is over. */
  clear(reason: string): Promise<wire.Cleared> {
    const { tenantId, driver, control } = this.#parts;
    return told(() => driver.act(control.clear(principalOf(tenantId, OPERATOR), this.id, reason)));
  }

  /**
   * Once, when the function of this step, or transaction, has ended: its worker is lost before anything of that is written, as where its
   * process is killed. Its lease ends by the clock, and another worker goes on as `onWorkerLoss` says.
   */
  crashAfter(step: string): void {
    this.#parts.workers.crashAfter(this.id, step);
  }

  /** Carries the run on as far as it goes without moving the clock, and answers how it stands. */
  carryOn(): Promise<wire.RunView> {
    return told(() => this.#reach(async () => ({ value: await this.view() })));
  }

  /** How the run stands. Moves nothing, as all that follows. */
  async status(): Promise<RunStatus> {
    return (await this.view()).status;
  }

  /** All that `GET /v1/runs/:id` tells, its open waits and containment among it. */
  async view(): Promise<wire.RunView> {
    const view = await this.#parts.reads.getRun(this.#parts.tenantId, this.id);
    if (view === undefined) throw forgotten(this.id);
    return view;
  }

  /** All that happened to the run, in the order of time: `GET /v1/runs/:id/timeline`. */
  async timeline(): Promise<readonly wire.TimelineEntry[]> {
    const timeline = await this.#parts.reads.getTimeline(this.#parts.tenantId, this.id);
    if (timeline === undefined) throw forgotten(this.id);
    return timeline.entries;
  }

  /** The run's journal in its order: which steps have ended, and which waits have closed. */
  async steps(): Promise<readonly JournaledCall[]> {
    const entries = (await this.timeline()).filter((entry) => entry.kind === "step");
    return entries
      .toSorted((a, b) => a.ordinal - b.ordinal)
      .map(({ call, name, outcome, tries }) => ({ kind: call, name, outcome, tries }));
  }

  /**
   * What the run has said by `ctx.stream` so far, the oldest chunk first; on this channel, or on all. The latest megabyte
   * of it. A step that was tried again, or repeated after the loss of its worker, has said it again.
   */
  streamed(channel?: string): readonly StreamedChunk[] {
    return streamedIn(this.#parts.live, this.id, channel);
  }

  /** Every consent that the run has asked for, the newest first. */
  async consents(): Promise<readonly wire.ConsentView[]> {
    return Promise.all((await this.#consents()).map((consent) => this.#consent(consent)));
  }

  async #consents(): Promise<readonly wire.ConsentSummary[]> {
    const { consents, tenantId } = this.#parts;
    return (await consents.list(tenantId, { runId: this.id }, { limit: 200 })).consents;
  }

  /** Every job that the run has delegated, the newest first: what its service was asked, and what came of it. */
  async jobs(): Promise<readonly wire.AttemptView[]> {
    const { attempts, tenantId } = this.#parts;
    const views = (await this.#jobs()).map(({ attemptId }) => attempts.get(tenantId, attemptId));
    return (await Promise.all(views)).filter((view) => view !== undefined);
  }

  async #jobs(): Promise<readonly wire.AttemptSummary[]> {
    const { attempts, tenantId } = this.#parts;
    return (await attempts.list(tenantId, { runId: this.id }, { limit: 200 })).attempts;
  }

  /** With what deciders are shown, which no list has. */
  async #consent({ consentId }: wire.ConsentSummary): Promise<wire.ConsentView> {
    const { consents, tenantId } = this.#parts;
    const consent = await consents.get(tenantId, consentId);
    if (consent === undefined) throw forgotten(this.id);
    return consent;
  }

  /** Undefined where there is none. One that is closed refuses by itself. */
  async #decideIfAsked(
    title: string | RegExp,
    which: "open" | "any",
    verdict: Verdict,
    options: DecideOptions,
  ): Promise<wire.Decided | undefined> {
    const consent = (await this.#consents()).find(
      (one) => isTitled(title, one) && (which === "any" || one.status === "PENDING"),
    );
    return consent === undefined ? undefined : this.#decide(consent, verdict, options);
  }

  #decide(
    { consentId, digest: shown }: Pick<wire.ConsentView, "consentId" | "digest">,
    verdict: Verdict,
    { as, comment, digest = shown }: DecideOptions,
  ): Promise<wire.Decided> {
    const { consents, tenantId } = this.#parts;
    const word = { verdict, digest, ...(comment === undefined ? {} : { comment }) };
    return consents.decide(principalOf(tenantId, as), consentId, word);
  }

  #reach<T>(look: () => Promise<{ readonly value: T } | undefined>): Promise<T> {
    const { driver, jobs } = this.#parts;
    return driver.reach({
      runIds: [this.id],
      look: async () => {
        const found = await look();
        // A test that has forgotten an entry is told so at once, and not where a deadline, or a timer, hides it.
        if (found === undefined && jobs.needsEntry(this.id)) throw await this.#stuck();
        return found;
      },
      stuck: () => this.#stuck(),
    });
  }

  async #stuck(): Promise<RunWaitsError> {
    const [view, consents, jobs] = await Promise.all([this.view(), this.#consents(), this.#jobs()]);
    const warnings = this.#parts.warningsOf(this.id);
    return new RunWaitsError(view, whyItWaits(view, { consents, jobs, script: this.#parts.jobs, warnings }));
  }
}

function forgotten(runId: string): GhoulsError {
  return new GhoulsError("not_found", `there is no run ${runId} any more`, {
    fix: "ghouls.reset() forgets every run: submit another one.",
  });
}
