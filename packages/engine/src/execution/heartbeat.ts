import { errorInLog } from "@ghouls/core";
import type { Claim, Clock, FaultInjector, Logger, QueuePort } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";

export interface HeartbeatOptions {
  readonly ledger: Pick<Ledger, "deliveries">;
  readonly queue: Pick<QueuePort, "changeVisibilities">;
  readonly clock: Clock;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly leaseMs: number;
  readonly beatMs: number;
  /** Whether somebody else extends the leases as well: then only the ledger can tell that one is gone. */
  readonly leaseHeld: boolean;
  /** Name of the queue that the messages came from. */
  readonly queueName: string;
}

/** A claim that this process carries. */
export interface Beating {
  readonly claim: Claim;
  /** Of the messages that brought it. */
  readonly receiptHandles: readonly string[];
  /** Called once when the claim is gone, or may be: nothing of it may be written any more. */
  readonly fence: (why: string) => void;
  /** Called at each beat that finds its run paused. */
  readonly pause: () => void;
}

interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Keeps the claims of one process alive: one statement extends their leases, one call the visibility of their messages
 * (design.md §3, Heartbeat). A claim that does not come back has been fenced. A process that cannot reach the ledger
 * fences itself before its leases end, by the larger of monotonic and wall time since before the last beat that was
 * answered was sent: a frozen process finds out by the wall clock, one whose wall clock jumps by the monotonic one.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #carried = new Set<Beating>();
  #proven: Moment;
  #lastBeat: Moment;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #underWay: Promise<void> | undefined;
  /** The last call that changes visibilities; no beat of the ledger waits for SQS. */
  #extending: Promise<void> | undefined;

  /** `sent` is the moment before the claim was sent. */
  constructor(options: HeartbeatOptions, sent: Moment) {
    this.#options = options;
    this.#proven = sent;
    this.#lastBeat = sent;
  }

  /** Starts to beat. The first act shortens the visibility of the messages, which the queue hides for much longer. */
  start(carried: readonly Beating[]): void {
    for (const one of carried) this.#carried.add(one);
    if (this.#carried.size === 0) return;
    const tickMs = Math.max(10, Math.min(this.#options.beatMs, this.#options.leaseMs / 10));
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#extending = this.#extendVisibility([...this.#carried]);
  }

  /** A hop has ended: its claim needs no beat any more. */
  remove(one: Beating): void {
    this.#carried.delete(one);
    if (this.#carried.size === 0) this.#stopTimer();
  }

  /** Ends the beat and waits for the one that is under way: after it nothing changes a message's visibility. */
  async stop(): Promise<void> {
    this.#stopTimer();
    this.#carried.clear();
    await this.#underWay;
    await this.#extending;
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #now(): Moment {
    return { monotonicMs: this.#options.clock.monotonicMs(), wallMs: this.#options.clock.wallMs() };
  }

  #tick(): void {
    const now = this.#now();
    const { leaseMs, beatMs, leaseHeld } = this.#options;
    if (!leaseHeld && since(this.#proven, now) > leaseMs * 0.9) {
      this.#fenceAll("its own lease could not be extended in time");
      return;
    }
    if (this.#underWay !== undefined || since(this.#lastBeat, now) < beatMs) return;
    this.#lastBeat = now;
    this.#underWay = this.#beat(now).finally(() => {
      this.#underWay = undefined;
    });
  }

  async #beat(sent: Moment): Promise<void> {
    const { ledger, faults, leaseMs, log } = this.#options;
    const carried = [...this.#carried];
    try {
      await faults("worker.before-beat", `${carried.length} claims`);
      const held = await ledger.deliveries.beatIfClaimed(
        carried.map((one) => one.claim),
        leaseMs / 1_000,
      );
      this.#proven = sent;
      const kept = carried.filter((one) => held.has(keyOf(one)));
      for (const one of carried)
        if (!kept.includes(one)) this.#fence(one, "the ledger has given it to nobody or to another");
      for (const one of kept) if (held.get(keyOf(one))?.paused === true) one.pause();
      const before = this.#extending;
      this.#extending = Promise.resolve(before).then(() => this.#extendVisibility(kept));
    } catch (error) {
      log.warn("a heartbeat failed", { claims: carried.length, error: errorInLog(error) });
    }
  }

  /** What fails here only brings a message back sooner, where it finds its delivery claimed. */
  async #extendVisibility(carried: readonly Beating[]): Promise<void> {
    const { queue, queueName, leaseMs, log } = this.#options;
    const handles = carried.filter((one) => this.#carried.has(one)).flatMap((one) => one.receiptHandles);
    if (handles.length === 0) return;
    try {
      const failed = await queue.changeVisibilities(queueName, handles, Math.ceil(leaseMs / 1_000));
      if (failed.length > 0)
        log.warn("the visibility of messages could not be extended", { messages: failed.length });
    } catch (error) {
      log.warn("the visibility of messages could not be extended", { error: errorInLog(error) });
    }
  }

  #fenceAll(why: string): void {
    for (const one of this.#carried) this.#fence(one, why);
  }

  #fence(one: Beating, why: string): void {
    if (!this.#carried.delete(one)) return;
    this.#options.log.warn("a claim is fenced", { runId: one.claim.runId, enqueueSeq: one.claim.seq, why });
    one.fence(why);
    if (this.#carried.size === 0) this.#stopTimer();
  }
}

function since(then: Moment, now: Moment): number {
  return Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs);
}

function keyOf({ claim }: Beating): string {
  return `${claim.runId}:${claim.seq}`;
}
