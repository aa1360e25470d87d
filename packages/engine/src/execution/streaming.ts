import {
  MAX_CHUNK_BYTES,
  UnserializableError,
  errorInLog,
  serialize,
  sha256,
  type LiveHop,
  type Logger,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import type { ExecutionDeps } from "./deps.ts";
import { isCallName, notAName } from "./call-name.ts";
import { refusal, type HopEnd } from "./hop-end.ts";

/** Of this process: hops that are carried at the same time count together. */
let lastNumber = 0;

type StreamingDeps = Pick<ExecutionDeps, "live" | "clock" | "codec" | "copies">;

/**
 * What one hop says by `ctx.stream` and `ctx.emit`. Nothing of it is journaled, waited for, or able to fail the run, but a call
 * that is none.
 */
export class Streaming {
  readonly #claim: ClaimedRun;
  readonly #hop: LiveHop;
  readonly #deps: StreamingDeps;
  readonly #log: Logger;
  #over = false;
  #warned = false;

  constructor(claim: ClaimedRun, deps: StreamingDeps, log: Logger) {
    this.#claim = claim;
    this.#hop = { tenantId: claim.tenantId, runId: claim.runId, enqueueSeq: claim.seq };
    this.#deps = deps;
    this.#log = log;
  }

  /**
   * @param isNew whether no earlier hop has said it
   * @param refuse told of a call that is wrong, in a replay as well
   */
  say(channel: unknown, chunk: unknown, isNew: () => boolean, refuse: (end: HopEnd) => void): void {
    if (this.#over) return;
    if (!isCallName(channel)) return refuse(refusal("invalid_call", notAName("channel of ctx.stream")));
    if (typeof chunk !== "string")
      return refuse(
        refusal("invalid_call", `ctx.stream("${channel}", …) takes a text: write JSON.stringify(value)`),
      );
    if (!isNew()) return;
    // UTF-8 has at least one byte for each unit, so a long one need not be counted.
    if (chunk.length > MAX_CHUNK_BYTES || Buffer.byteLength(chunk) > MAX_CHUNK_BYTES)
      return this.#warn("a chunk of ctx.stream is too large, and was dropped", {
        channel,
        units: chunk.length,
      });
    lastNumber += 1;
    const event = { ...this.#hop, number: lastNumber, channel, chunk };
    this.#tell(() => this.#deps.live.write(event));
  }

  /** @param refuse told of a call that is wrong, in a replay as well */
  emit(name: unknown, data: unknown, isNew: () => boolean, refuse: (end: HopEnd) => void): void {
    if (this.#over) return;
    if (!isCallName(name)) return refuse(refusal("invalid_call", notAName("event of ctx.emit")));
    const text = textOf(data);
    if (text instanceof UnserializableError)
      return refuse(refusal(text.reason, `what ctx.emit("${name}", …) was given: ${text.message}`));
    if (!isNew()) return;
    if (text.length > MAX_CHUNK_BYTES || Buffer.byteLength(text) > MAX_CHUNK_BYTES)
      return this.#warn("the data of ctx.emit are too large, and the event was dropped", { name });
    const now = new Date(this.#deps.clock.wallMs());
    const { enqueueSeq } = this.#hop;
    const at = now.toISOString();
    const event = { kind: "emitted", at, enqueueSeq, name, data: JSON.parse(text) as unknown } as const;
    const number = this.#tell(() => this.#deps.live.tell(this.#hop, event));
    void this.#copy(name, text, now, number);
  }

  /** For people, and for whoever misses it in the live channel; best effort. */
  async #copy(name: string, text: string, at: Date, number: number | undefined): Promise<void> {
    try {
      const { tenantId, runId } = this.#claim;
      const bodyText = await this.#deps.codec.encode(text, { tenantId, runId, kind: "event" });
      this.#deps.copies?.add({
        claim: this.#claim,
        ordinal: null,
        ...(number === undefined ? {} : { number }),
        call: JSON.stringify(["emit", name]),
        outcome: "ok",
        tries: 1,
        startedAt: at,
        completedAt: at,
        bodyText,
        bodyDigest: sha256(bodyText),
      });
    } catch (error) {
      this.#warn("a copy of an emitted event could not be made", { error: errorInLog(error) });
    }
  }

  /** The hop has ended, or is fenced. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#tell(() => this.#deps.live.end(this.#hop));
  }

  #tell<T>(what: () => T): T | undefined {
    try {
      return what();
    } catch (error) {
      this.#warn("the live stream does not take what a run says", { error: errorInLog(error) });
      return undefined;
    }
  }

  /** Once a hop: a model says a thousand tokens. */
  #warn(message: string, fields: Record<string, string | number>): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#log.warn(message, fields);
  }
}

/** "null" for nothing. */
function textOf(data: unknown): string | UnserializableError {
  try {
    return serialize(data) ?? "null";
  } catch (error) {
    if (error instanceof UnserializableError) return error;
    throw error;
  }
}
