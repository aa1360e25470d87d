import type { wire } from "@ghouls/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useClient } from "../session/gate.tsx";
import { heard, NOTHING_HEARD, type Heard } from "./heard.ts";
import { runKey } from "./use-run.ts";

/** Milliseconds between two reads of what an event has changed; more for a long timeline. */
const READ_MS = 300;
const READ_LONG_MS = 2_000;
const LONG = 500;

export interface Live extends Heard {
  /** Why nothing more is heard; undefined while there is, and at the end. */
  readonly error: Error | undefined;
}

/** Listens to a run: what it says is gathered, and what it does has the page read again. */
export function useLive(runId: string): Live {
  const client = useClient();
  const queries = useQueryClient();
  const [live, setLive] = useState<Live>({ ...NOTHING_HEARD, error: undefined });
  useEffect(() => {
    const ending = new AbortController();
    let waiting: wire.RunEvent[] = [];
    let frame = 0;
    let reading: ReturnType<typeof setTimeout> | undefined;
    setLive({ ...NOTHING_HEARD, error: undefined });
    const show = (): void => {
      frame = 0;
      const events = waiting;
      waiting = [];
      setLive((before) => ({ ...heard(before, events), error: undefined }));
    };
    const readAgain = (): void => {
      const timeline = queries.getQueryData<wire.Timeline>([...runKey(runId), "timeline"]);
      const pause = (timeline?.entries.length ?? 0) > LONG ? READ_LONG_MS : READ_MS;
      reading ??= setTimeout(() => {
        reading = undefined;
        void queries.invalidateQueries({ queryKey: runKey(runId) });
      }, pause);
    };
    const listen = async (): Promise<void> => {
      for await (const { events } of client.follow(runId, { signal: ending.signal })) {
        waiting.push(...events);
        if (frame === 0) frame = requestAnimationFrame(show);
        if (events.some(({ kind }) => kind !== "chunk")) readAgain();
      }
      readAgain();
    };
    listen().catch((error: unknown) => {
      if (ending.signal.aborted) return;
      const why = error instanceof Error ? error : new Error(String(error));
      setLive((before) => ({ ...before, error: why }));
    });
    return () => {
      ending.abort();
      cancelAnimationFrame(frame);
      clearTimeout(reading);
    };
  }, [client, queries, runId]);
  return live;
}
