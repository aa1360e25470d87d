import type { EventPlace } from "./event-place.ts";
import type { DeliveryRef } from "./message.ts";
import type { RunEvent } from "./wire/events.ts";

/**
 * Ports exist only where two real implementations do (design.md §7). PostgreSQL has none: its locks are the product.
 */

/** What a payload belongs to; a codec may bind its encryption to it. */
export interface PayloadContext {
  readonly tenantId: string;
  readonly runId: string;
  readonly kind:
    | "input"
    | "output"
    | "error"
    | "result"
    | "authority"
    | "consent"
    | "comment"
    | "signal"
    | "job"
    | "report"
    | "event";
}

/** Payloads pass it on their way to and from the ledger. The identity by default. */
export interface Codec {
  encode(text: string, context: PayloadContext): Promise<string>;
  decode(stored: string, context: PayloadContext): Promise<string>;
  /** Where the codec holds a key: a keyed digest of the canonical request, so that the stored digest tells nothing. */
  digest?(canonical: string): Promise<string>;
}

export const identityCodec: Codec = {
  encode: (text) => Promise.resolve(text),
  decode: (stored) => Promise.resolve(stored),
};

/** A message to publish: the delivery, and the tenant for SQS's fair queues. */
export interface Publication extends DeliveryRef {
  readonly tenantId: string;
  /** Name in the configuration, such as "runs" or "rites". */
  readonly queue: string;
  /** Whole seconds until the message is to come, 0 to 900; it comes at once where absent. */
  readonly delaySeconds?: number;
}

/** The longest delay of a message, in seconds. Source: Amazon SQS, message timers. */
export const MAX_DELAY_SECONDS = 900;

export interface PublishResult {
  /** What SQS confirmed. Only these may be marked as published. */
  readonly confirmed: readonly Publication[];
  /** The rest, each with a readable reason. An unknown outcome counts as failed: a second message is harmless. */
  readonly failed: readonly { readonly publication: Publication; readonly reason: string }[];
}

export interface ReceivedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** How often the queue has handed this message out, this time included. */
  readonly receiveCount: number;
  readonly sentAtMs: number;
  readonly groupId: string | undefined;
}

/** A timer's message: it is to come when the timer is due. */
export interface Wake {
  readonly armId: string;
  readonly tenantId: string;
  readonly queue: string;
  /** Whole seconds until it is to come, 0 to 900. */
  readonly delaySeconds: number;
}

/** The queue: SQS, or a server that speaks its protocol. */
export interface QueuePort {
  /** Never rejects for a message: what was not confirmed is in `failed`. Retries are small and bounded. */
  publish(publications: readonly Publication[]): Promise<PublishResult>;
  /**
   * Sends timers' messages as well as it can, and answers why some could not be sent. Never rejects: the reconciler finds
   * what is due all the same.
   */
  wake(wakes: readonly Wake[]): Promise<readonly string[]>;
  receive(queue: string, options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;
  /** Rejects where the handle is stale or the queue is out of reach; callers treat that as "unknown". */
  changeVisibility(queue: string, receiptHandle: string, seconds: number): Promise<void>;
  /** The same for the messages of one process, in as few calls as there can be. Answers the handles that failed. */
  changeVisibilities(
    queue: string,
    receiptHandles: readonly string[],
    seconds: number,
  ): Promise<readonly string[]>;
  delete(queue: string, receiptHandle: string): Promise<void>;
}

export interface ReceiveOptions {
  /** 1 to 10. */
  readonly max: number;
  /** Long poll, 0 to 20 s. */
  readonly waitSeconds: number;
  /** The visibility of what is received, 0 to 43,200 s; the queue's own where absent. */
  readonly visibilitySeconds?: number;
  readonly signal?: AbortSignal;
}

/** What the wake hint said when it was read. Times are milliseconds of the writers' wall clocks: a hint, never truth. */
export interface HintState {
  /** Moves with every lowering. */
  readonly version: number;
  /** The earliest moment at which somebody must look at the ledger; in the past while work is open. */
  readonly dueAtMs: number;
  /** The last lowering; undefined where there was none since the hint was written anew. */
  readonly openedAtMs: number | undefined;
}

/**
 * When the reconciler must connect next, kept where reading it wakes no database. Each call may reject: whoever reads then
 * connects, whoever lowers or raises goes on.
 */
export interface WakeHint {
  /** Whether a raise can come to anything; where it cannot, nobody need ask the ledger what is due next. */
  readonly keeps: boolean;
  /** Undefined where there is no hint: connect. */
  read(): Promise<HintState | undefined>;
  /** Before work is opened: due no later than this, and the version moves in any case. */
  lower(nowMs: number, dueAtMs: number): Promise<void>;
  /**
   * After the ledger was looked at: due at this moment, only if the version is still what it was when the hint was read
   * before that look (undefined: there was none). False where it is not.
   */
  raise(version: number | undefined, nowMs: number, dueAtMs: number): Promise<boolean>;
}

/** No hint: the reconciler connects every time. */
export const noHint: WakeHint = {
  keeps: false,
  read: () => Promise.resolve(undefined),
  lower: () => Promise.resolve(),
  raise: () => Promise.resolve(false),
};

/** What a run says while it is carried, to whoever looks on just then. */
export interface LiveEvent {
  readonly tenantId: string;
  readonly runId: string;
  /** The delivery whose hop says it. */
  readonly enqueueSeq: number;
  /** One more with each event of this process: which came first, and where some are missing. */
  readonly number: number;
  readonly channel: string;
  readonly chunk: string;
}

/** The longest chunk of a live event, and the longest JSON of an emitted one, in bytes of UTF-8. */
export const MAX_CHUNK_BYTES = 16_384;

/** The hop that something is told of. */
export type LiveHop = Pick<LiveEvent, "tenantId" | "runId" | "enqueueSeq">;

/**
 * Where hops say what happens: the live channel. All but `drain` return at once and never throw for what is given; it may be
 * lost, and is never asked for by the run itself.
 */
export interface LiveStream {
  write(event: LiveEvent): void;
  /**
   * Something that has happened: what the ledger knows of as well, or an emitted event.
   * @returns the number that it has among all that its hop says, whether it is written or lost; undefined where none are given
   */
  tell(hop: LiveHop, event: RunEvent): number | undefined;
  /** A hop has ended: nothing more comes from it. */
  end(hop: LiveHop): void;
  /**
   * Waits until all that was told of a hop is written, or given up, or this many milliseconds are over; then nothing of it is
   * on its way any more that this process would write later. Never rejects.
   * @param finished the run has ended with this hop: the channel is closed behind it
   */
  drain(hop: LiveHop, withinMs: number, finished: boolean): Promise<void>;
}

/** Nobody looks on. */
export const noLiveStream: LiveStream = {
  write: () => undefined,
  tell: () => undefined,
  end: () => undefined,
  drain: () => Promise.resolve(),
};

/** Events of one run that were written together, where they stand among the others. */
export interface EventRecord {
  readonly enqueueSeq: number;
  /** "published" comes before all that the hop of its delivery says. */
  readonly part: "published" | "hop";
  /** Of its first event, counted from 1 in its part; each further one has the next number. */
  readonly first: number;
  readonly events: readonly RunEvent[];
  /** The run has ended with them. */
  readonly isLast?: true;
}

/** The word that a run has ended: behind all records, and about nothing, since the ledger alone says how. */
export const END_OF_EVENTS = "end";

/**
 * Where events are kept for a while, by run and place. It decides nothing: the ledger does. Each call rejects where nobody can
 * tell what came of it.
 */
export interface EventStore {
  /** Under a place that is taken nothing changes: whoever does not know puts the same once more. */
  put(run: RunOfEvents, record: EventRecord | typeof END_OF_EVENTS): Promise<void>;
  /** Of several runs, as well as it can. Answers how many were not taken. */
  putMany(records: readonly (RunOfEvents & { readonly record: EventRecord })[]): Promise<number>;
  /** The next records behind a place, the oldest first; what has expired is not among them. */
  read(
    run: RunOfEvents,
    after: EventPlace,
  ): Promise<{ readonly records: readonly EventRecord[]; readonly ended: boolean; readonly more: boolean }>;
}

export interface RunOfEvents {
  readonly tenantId: string;
  readonly runId: string;
}

/** No table is there: whoever looks on has the ledger. */
export const noEventStore: EventStore = {
  put: () => Promise.resolve(),
  putMany: () => Promise.resolve(0),
  read: () => Promise.resolve({ records: [], ended: false, more: false }),
};

/**
 * Where the bundles of releases lie, by the SHA-256 of their bytes: S3, or a folder. Each call rejects where nobody can tell
 * what came of it.
 */
export interface ReleaseStore {
  /** Once more is the same. */
  put(bundle: string, bytes: Uint8Array): Promise<void>;
  /** As it lies there, unverified. Undefined where it does not. */
  get(bundle: string): Promise<Uint8Array | undefined>;
  /** Of one that is not there it is done. */
  delete(bundle: string): Promise<void>;
}

/** Randomness that identifies: run ids and claim tokens (UUIDs). */
export interface Ids {
  next(): string;
}

/** Time of this process, for its own timers only. What the ledger decides uses the ledger's clock. */
export interface Clock {
  /** Milliseconds of a monotonic clock. It may stand still while a process is frozen. */
  monotonicMs(): number;
  /** Milliseconds of the wall clock. It may jump. */
  wallMs(): number;
}

/** What a decision source says of a consent that it was asked to decide. */
export type SourceAnswer =
  | { readonly outcome: "pending" }
  | { readonly outcome: "grant" | "deny"; readonly by: string; readonly comment?: string };

/** Somebody else than the ledger who decides consents: a ticket system, say. Asked by the reconciler, within a deadline. */
export interface DecisionSource {
  /** Rejects where it cannot tell now: it is asked again later. */
  lookUp(consent: SourceQuestion, signal: AbortSignal): Promise<SourceAnswer>;
}

/** What a source is asked about: the frozen request. */
export interface SourceQuestion {
  readonly tenantId: string;
  readonly runId: string;
  readonly consentId: string;
  readonly title: string;
  /** Digest of the frozen request: it is the same request for as long as this is the same. */
  readonly digest: string;
  readonly detail: unknown;
}
