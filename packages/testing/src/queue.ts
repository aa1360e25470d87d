import { randomUUID } from "node:crypto";
import {
  formatMessage,
  formatWake,
  type PublishResult,
  type Publication,
  type QueuePort,
  type ReceiveOptions,
  type ReceivedMessage,
  type Wake,
} from "@ghouls/core";

/** A message as it was published. */
export interface PublishedMessage {
  readonly queue: string;
  /** `run:<run id>:<delivery>`, or `wake:<arm id>` for a timer. */
  readonly body: string;
  /** When it may be received, by the ledger's clock. */
  readonly dueAt: Date;
  /** How often it was put into the queue: 0 where it was dropped, 2 where it was duplicated. */
  readonly copies: number;
}

/** What a test may do to the queue. */
export interface QueueControls {
  /** Everything that was published, the oldest first. */
  readonly published: readonly PublishedMessage[];
  /** The next messages are lost on their way, though their publisher is told that they were sent. One by default. */
  dropNext(count?: number): void;
  /** The next messages come twice. One by default. */
  duplicateNext(count?: number): void;
}

interface Waiting {
  readonly messageId: string;
  readonly queue: string;
  readonly body: string;
  /** Of a delivery's message. */
  readonly runId: string | undefined;
  readonly groupId: string;
  readonly sentAtMs: number;
  receiptHandle: string;
  receiveCount: number;
  visibleAtMs: number;
}

/** A message that was taken, and the queue that it is from. */
export interface Taken extends ReceivedMessage {
  readonly queue: string;
}

/** How long what was taken stays hidden where nobody says otherwise, as a queue of a deployment does. */
const VISIBILITY_MS = 900_000;

/**
 * The queue of a test, in this process: it keeps its order, and what is due is due by the ledger's clock. It is the test's
 * seam and no stand-in for SQS, because nothing rests on what a queue promises: whatever is dropped, comes twice or comes
 * late, the ledger's fences must hold, and the reconciler must find what is missing.
 */
export class TestQueue implements QueuePort, QueueControls {
  readonly #nowMs: () => Promise<number>;
  readonly #published: PublishedMessage[] = [];
  #waiting: Waiting[] = [];
  #drops = 0;
  #duplicates = 0;

  /** `nowMs` tells the ledger's time. */
  constructor(nowMs: () => Promise<number>) {
    this.#nowMs = nowMs;
  }

  get published(): readonly PublishedMessage[] {
    return this.#published;
  }

  dropNext(count = 1): void {
    this.#drops += count;
  }

  duplicateNext(count = 1): void {
    this.#duplicates += count;
  }

  async publish(publications: readonly Publication[]): Promise<PublishResult> {
    const now = await this.#nowMs();
    for (const { queue, tenantId, delaySeconds = 0, ...ref } of publications) {
      const dueAtMs = now + delaySeconds * 1_000;
      this.#put({ queue, body: formatMessage(ref), runId: ref.runId, groupId: tenantId, now, dueAtMs });
    }
    return { confirmed: [...publications], failed: [] };
  }

  async wake(wakes: readonly Wake[]): Promise<readonly string[]> {
    const now = await this.#nowMs();
    for (const { queue, tenantId, armId, delaySeconds } of wakes) {
      const dueAtMs = now + delaySeconds * 1_000;
      this.#put({ queue, body: formatWake(armId), runId: undefined, groupId: tenantId, now, dueAtMs });
    }
    return [];
  }

  async receive(queue: string, { max, visibilitySeconds }: ReceiveOptions): Promise<readonly Taken[]> {
    const visibilityMs = visibilitySeconds === undefined ? VISIBILITY_MS : visibilitySeconds * 1_000;
    const taken: Taken[] = [];
    while (taken.length < max) {
      const one = await this.take((message) => message.queue === queue, visibilityMs);
      if (one === undefined) break;
      taken.push(one);
    }
    return taken;
  }

  /** The message that is due for the longest of those that are wanted; it is hidden from now on. */
  async take(
    isWanted: (message: { readonly queue: string; readonly runId: string | undefined }) => boolean,
    visibilityMs = VISIBILITY_MS,
  ): Promise<Taken | undefined> {
    if (this.#waiting.length === 0) return undefined;
    const now = await this.#nowMs();
    const [first] = this.#waiting
      .filter((message) => message.visibleAtMs <= now && isWanted(message))
      .toSorted((a, b) => a.visibleAtMs - b.visibleAtMs);
    if (first === undefined) return undefined;
    first.receiptHandle = randomUUID();
    first.receiveCount += 1;
    first.visibleAtMs = now + visibilityMs;
    const { messageId, queue, body, receiptHandle, receiveCount, sentAtMs, groupId } = first;
    return { messageId, queue, body, receiptHandle, receiveCount, sentAtMs, groupId };
  }

  async changeVisibility(queue: string, receiptHandle: string, seconds: number): Promise<void> {
    const [failed] = await this.changeVisibilities(queue, [receiptHandle], seconds);
    if (failed !== undefined) throw new Error(`no message of the queue "${queue}" is held by this handle`);
  }

  async changeVisibilities(
    queue: string,
    receiptHandles: readonly string[],
    seconds: number,
  ): Promise<readonly string[]> {
    const now = await this.#nowMs();
    return receiptHandles.filter((handle) => {
      const held = this.#waiting.find(
        (message) => message.queue === queue && message.receiptHandle === handle,
      );
      if (held !== undefined) held.visibleAtMs = now + seconds * 1_000;
      return held === undefined;
    });
  }

  delete(queue: string, receiptHandle: string): Promise<void> {
    this.#waiting = this.#waiting.filter(
      (message) => message.queue !== queue || message.receiptHandle !== receiptHandle,
    );
    return Promise.resolve();
  }

  /** Forgets every message, and what was to become of the next ones. */
  clear(): void {
    this.#waiting = [];
    this.#published.length = 0;
    this.#drops = 0;
    this.#duplicates = 0;
  }

  #put(sent: {
    readonly queue: string;
    readonly body: string;
    readonly runId: string | undefined;
    readonly groupId: string;
    readonly now: number;
    readonly dueAtMs: number;
  }): void {
    const { queue, body, runId, groupId, now, dueAtMs } = sent;
    const copies = this.#copies();
    this.#published.push({ queue, body, dueAt: new Date(dueAtMs), copies });
    for (let copy = 0; copy < copies; copy += 1) {
      this.#waiting.push({
        messageId: randomUUID(),
        queue,
        body,
        runId,
        groupId,
        sentAtMs: now,
        receiptHandle: "",
        receiveCount: 0,
        visibleAtMs: dueAtMs,
      });
    }
  }

  #copies(): number {
    if (this.#drops > 0) {
      this.#drops -= 1;
      return 0;
    }
    if (this.#duplicates === 0) return 1;
    this.#duplicates -= 1;
    return 2;
  }
}
