import type { wire } from "@ghouls/core";

/** What was heard of a run on its live channel. */
export interface Heard {
  /** What was streamed, by channel, the end of it where there is much. */
  readonly channels: ReadonlyMap<string, Stream>;
  readonly emitted: readonly Emitted[];
  /** When something was missed, the latest such moment. */
  readonly gapAt: string | undefined;
}

interface Stream {
  readonly text: string;
  /** Whether the beginning was let go. */
  readonly isCut: boolean;
  /** Of the hop that says it. */
  readonly enqueueSeq: number;
  readonly at: string;
}
type Emitted = Extract<wire.RunEvent, { kind: "emitted" }>;

/** Characters that are kept of one channel. */
const KEPT_TEXT = 100_000;
const KEPT_EVENTS = 500;

export const NOTHING_HEARD: Heard = { channels: new Map(), emitted: [], gapAt: undefined };

/** What is known after some more events, in their order. A hop that says a channel again starts it again. */
export function heard(before: Heard, events: readonly wire.RunEvent[]): Heard {
  const channels = new Map(before.channels);
  let { emitted, gapAt } = before;
  for (const event of events) {
    if (event.kind === "chunk") {
      const { channel, chunk, enqueueSeq, at } = event;
      const known = channels.get(channel);
      const whole = known?.enqueueSeq === enqueueSeq ? known.text + chunk : chunk;
      const isCut = whole.length > KEPT_TEXT || (known?.enqueueSeq === enqueueSeq && known.isCut);
      channels.set(channel, { text: whole.slice(-KEPT_TEXT), isCut, enqueueSeq, at });
    } else if (event.kind === "emitted") emitted = [...emitted, event].slice(-KEPT_EVENTS);
    else if (event.kind === "gap") gapAt = event.at;
  }
  return { channels, emitted, gapAt };
}
