import { createHash } from "node:crypto";

/**
 * Identity of a call (design.md §3, Step): its epoch, its scope, kind, name and its n-th use of that name there. Two
 * hops of a run that ask for the same call mean the same call.
 */
export interface CallId {
  /** 0, and one more at each restart. */
  readonly epoch: number;
  /** Path of map items and reserve bodies that the call stands in, "" at the top. */
  readonly scope: string;
  readonly kind: CallKind;
  readonly name: string;
  /** 1 for the first use of the name in the scope. */
  readonly nth: number;
}

export const CALL_KINDS = [
  "step",
  "transaction",
  "consent",
  "delegate",
  "child",
  "sleep",
  "signal",
  "reserve",
  "release",
] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** One text per identity; names may hold any character, so the parts are JSON. */
export function callKey(call: CallId): string {
  return JSON.stringify([call.epoch, call.scope, call.kind, call.name, call.nth]);
}

export function describeCall(call: Pick<CallId, "kind" | "name" | "nth" | "scope">): string {
  const use = call.nth === 1 ? "" : ` (use ${call.nth})`;
  const where = call.scope === "" ? "" : ` in ${call.scope}`;
  return `${call.kind} "${call.name}"${use}${where}`;
}

/**
 * The key that a step hands to other services: the same for every try, hop and loss, because it depends on nothing but
 * the first run of a redrive chain and the call's identity.
 */
export function idempotencyKeyOf(firstRunId: string, call: CallId): string {
  return createHash("sha256")
    .update(`ghouls-step-1\n${firstRunId}\n${callKey(call)}`)
    .digest("hex");
}

/** The same for what undoes a step: a key of its own, which is never its step's. */
export function undoKeyOf(firstRunId: string, call: CallId): string {
  return createHash("sha256")
    .update(`ghouls-undo-1\n${firstRunId}\n${callKey(call)}`)
    .digest("hex");
}

/**
 * The run's own chance: a stream of 64-bit values keyed by the first run of a redrive chain, epoch and scope, so that a
 * replay draws the same ones.
 */
export class RandomStream {
  #key: string;
  #drawn = 0;

  constructor(firstRunId: string, epoch: number, scope: string) {
    this.#key = `ghouls-random-1\n${JSON.stringify([firstRunId, epoch, scope])}`;
  }

  #next(): Buffer {
    this.#drawn += 1;
    return createHash("sha256").update(`${this.#key}\n${this.#drawn}`).digest();
  }

  /** A number in [0, 1) with 53 bits. */
  random(): number {
    return Number(this.#next().readBigUInt64BE() >> 11n) / 2 ** 53;
  }

  /** A version 4 UUID. */
  uuid(): string {
    const bytes = this.#next().subarray(0, 16);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = bytes.toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}
