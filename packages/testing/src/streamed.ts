import type { LiveRing } from "@ghouls/engine";

/** One call of `ctx.stream`. */
export interface StreamedChunk {
  readonly channel: string;
  readonly chunk: string;
}

export function streamedIn(live: LiveRing, runId: string, channel: string | undefined): StreamedChunk[] {
  const events = live.read(runId).filter((event) => channel === undefined || event.channel === channel);
  return events.map((event) => ({ channel: event.channel, chunk: event.chunk }));
}
