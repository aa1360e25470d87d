import { MAX_CHUNK_BYTES, type LiveEvent, type LiveStream, type Logger, errorInLog } from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { isCallName, notAName } from "./call-name.ts";
import { refusal, type HopEnd } from "./hop-end.ts";

/** Of this process: hops that are carried at the same time count together. */
let lastNumber = 0;

/** What one hop says by `ctx.stream`. Nothing of it is kept, waited for, or able to fail the run, but a call that is none. */
export class Streaming {
  readonly #hop: Pick<LiveEvent, "tenantId" | "runId" | "enqueueSeq">;
  readonly #live: LiveStream;
  readonly #log: Logger;
  #over = false;
  #warned = false;

  constructor(claim: Pick<ClaimedRun, "tenantId" | "runId" | "seq">, live: LiveStream, log: Logger) {
    this.#hop = { tenantId: claim.tenantId, runId: claim.runId, enqueueSeq: claim.seq };
    this.#live = live;
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
    this.#tell(() => this.#live.write(event));
  }

  /** The hop has ended, or is fenced. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#tell(() => this.#live.end(this.#hop));
  }

  #tell(what: () => void): void {
    try {
      what();
    } catch (error) {
      this.#warn("the live stream does not take what a run says", { error: errorInLog(error) });
    }
  }

  /** Once a hop: a model says a thousand tokens. */
  #warn(message: string, fields: Record<string, string | number>): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#log.warn(message, fields);
  }
}
