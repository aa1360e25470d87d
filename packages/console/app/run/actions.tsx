import type { GhoulsClient } from "@ghouls/client";
import { isTerminalRun, type Permission, type wire } from "@ghouls/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { useClient } from "../session/gate.tsx";
import { useMe } from "../session/me.ts";
import { runKey } from "./use-run.ts";

/** Something that a person may do with a run, and what they are told before. */
interface Action {
  readonly name: string;
  readonly title: string;
  readonly explained: string;
  readonly needs: Permission;
  readonly danger?: true;
  readonly withoutReason?: true;
  readonly fits: (run: wire.RunView, isHeld: boolean) => boolean;
  /** @returns the run to go to, where another one goes on */
  readonly act: (client: GhoulsClient, runId: string, reason: string) => Promise<string | undefined>;
}

const isEnding = ({ status }: wire.RunView): boolean =>
  ["COMPLETING", "FAILING", "CANCELLING"].includes(status);
const isOpen = (run: wire.RunView): boolean => !isTerminalRun(run.status) && !isEnding(run);

const ACTIONS: readonly Action[] = [
  {
    name: "Release",
    title: "Release this run",
    explained: "It starts: the hold ends for good.",
    needs: "runs:release",
    withoutReason: true,
    fits: (run, isHeld) => run.status === "QUEUED" && isHeld,
    act: async (client, runId) => {
      await client.release(runId);
      return undefined;
    },
  },
  {
    name: "Pause",
    title: "Pause this run",
    explained:
      "A hop that is under way goes on to its next safe place. Nothing new is taken up until the pause ends.",
    needs: "runs:pause",
    fits: (run) => isOpen(run) && run.pausedAt === null,
    act: async (client, runId, reason) => {
      await client.pause(runId, reason);
      return undefined;
    },
  },
  {
    name: "Unpause",
    title: "End the pause of this run",
    explained: "It goes on where it stands.",
    needs: "runs:pause",
    fits: (run) => isOpen(run) && run.pausedAt !== null,
    act: async (client, runId, reason) => {
      await client.unpause(runId, reason);
      return undefined;
    },
  },
  {
    name: "Clear",
    title: "Clear this run",
    explained: "You have looked at what was wrong, and it may go on. What was found stays on record.",
    needs: "runs:clear",
    fits: (run) =>
      !isTerminalRun(run.status) && (run.quarantine !== null || (isEnding(run) && run.attention !== null)),
    act: async (client, runId, reason) => {
      await client.clear(runId, reason);
      return undefined;
    },
  },
  {
    name: "Redrive",
    title: "Redrive this run",
    explained: "A new run goes on from its last good step. This one stays as it ended.",
    needs: "runs:redrive",
    fits: (run) => (run.status === "FAILED" || run.status === "CANCELLED") && run.redrivenAs === null,
    act: async (client, runId, reason) => (await client.redrive(runId, reason)).runId,
  },
  {
    name: "Cancel",
    title: "Cancel this run",
    explained:
      "Nothing new of it starts from now on. It is CANCELLED once it is proven that nothing of it can still act.",
    needs: "runs:cancel",
    danger: true,
    fits: isOpen,
    act: async (client, runId, reason) => {
      await client.cancel(runId, reason);
      return undefined;
    },
  },
];

/** What the person may do with the run as it stands. */
export function Actions({ run, isHeld }: { run: wire.RunView; isHeld: boolean }) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: me } = useMe();
  const [asked, setAsked] = useState<Action>();
  const fitting = ACTIONS.filter(({ fits, needs }) => me?.permissions.includes(needs) && fits(run, isHeld));
  const act = async (action: Action, reason: string): Promise<void> => {
    const next = await action.act(client, run.runId, reason);
    await queries.invalidateQueries({ queryKey: runKey(run.runId) });
    if (next !== undefined) await navigate({ to: "/runs/$runId", params: { runId: next } });
  };
  return (
    <div className="actions">
      {fitting.map((action) => (
        <button
          key={action.name}
          type="button"
          className={action.danger === true ? "danger" : undefined}
          onClick={() => setAsked(action)}
        >
          {action.name}
        </button>
      ))}
      {asked !== undefined && (
        <Ask
          title={asked.title}
          verb={asked.name}
          danger={asked.danger === true}
          {...(asked.withoutReason === true ? {} : { reason: "Why? This is kept with the run." })}
          act={(reason) => act(asked, reason)}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked.explained}</p>
        </Ask>
      )}
    </div>
  );
}
