import { isTerminalRun } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../session/gate.tsx";

/** Milliseconds between two reads of a run whose events say nothing. */
const LOOK_MS = 4_000;

export const runKey = (runId: string) => ["run", runId] as const;

/** A run as it stands. */
export function useRun(runId: string) {
  const client = useClient();
  return useQuery({
    queryKey: [...runKey(runId), "view"],
    queryFn: ({ signal }) => client.getRun(runId, { signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && isTerminalRun(state.data.status) ? false : LOOK_MS,
  });
}

/** What has happened to it. It is read again with the run, and when an event says that there is more. */
export function useTimeline(runId: string, isOver: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: [...runKey(runId), "timeline"],
    queryFn: ({ signal }) => client.getTimeline(runId, { signal }),
    refetchInterval: isOver ? false : LOOK_MS * 2,
  });
}

/** Who was asked about it, and which jobs it has delegated: they say who ended its waits. */
export function useOwners(runId: string, isOver: boolean) {
  const client = useClient();
  const refetchInterval = isOver ? false : LOOK_MS;
  const consents = useQuery({
    queryKey: [...runKey(runId), "consents"],
    queryFn: ({ signal }) => client.listConsents({ runId, limit: 200, signal }),
    refetchInterval,
  });
  const attempts = useQuery({
    queryKey: [...runKey(runId), "attempts"],
    queryFn: ({ signal }) => client.listAttempts({ runId, limit: 200, signal }),
    refetchInterval,
  });
  return { consents: consents.data?.consents ?? [], attempts: attempts.data?.attempts ?? [] };
}
