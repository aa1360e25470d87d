import type { wire } from "@ghouls/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { useMay } from "../session/me.ts";

const LOOK_MS = 10_000;
type Asked = { readonly kind: "set" } | { readonly kind: "lift"; readonly pause: wire.PauseView };

/** What keeps many runs still: everything, a tenant, a workflow. A single run is paused on its own page. */
export function Pauses() {
  const client = useClient();
  const mayPause = useMay("runs:pause");
  const [asked, setAsked] = useState<Asked>();
  const { data, error } = useQuery({
    queryKey: ["pauses"],
    queryFn: ({ signal }) => client.listPauses({ signal }),
    refetchInterval: LOOK_MS,
  });
  const close = (): void => setAsked(undefined);
  return (
    <section className="sheet" aria-labelledby="pauses">
      <div className="section-head">
        <h2 id="pauses">Pauses</h2>
        {mayPause && (
          <button type="button" onClick={() => setAsked({ kind: "set" })}>
            Pause
          </button>
        )}
      </div>
      <ProblemNote error={error} />
      {data?.pauses.length === 0 && <p className="quiet">No workflow and no tenant is paused.</p>}
      <ul className="rows">
        {data?.pauses.map((pause) => (
          <li key={pause.pauseId}>
            <p>
              <span className="pill tone-person">paused</span> <strong>{nameOf(pause)}</strong>{" "}
              <span className="quiet small">
                <Ago at={pause.at} /> by <Shown text={pause.by} />
              </span>
            </p>
            <p className="wrap">
              <Shown text={pause.reason} />
            </p>
            {mayPause && (
              <p className="actions">
                <button type="button" onClick={() => setAsked({ kind: "lift", pause })}>
                  Lift
                </button>
              </p>
            )}
          </li>
        ))}
      </ul>
      {asked?.kind === "set" && <SetPause onClose={close} />}
      {asked?.kind === "lift" && <LiftPause pause={asked.pause} onClose={close} />}
    </section>
  );
}

function nameOf({ scope, workflow }: wire.PauseView): string {
  if (scope === "all") return "All runs of the deployment";
  return scope === "tenant" ? "All runs of your tenant" : `Runs of ${workflow ?? "?"}`;
}

function SetPause({ onClose }: { onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ["workflows"],
    queryFn: ({ signal }) => client.listWorkflows({ signal }),
    staleTime: 30_000,
  });
  const names = [...new Set(data?.workflows.map(({ name }) => name))].toSorted();
  return (
    <Ask
      title="Pause runs"
      verb="Pause"
      danger
      reason="Why? This is kept with the pause."
      act={async (reason, form) => {
        const workflow = form.get("workflow");
        await client.setPause(
          typeof workflow === "string" && workflow !== ""
            ? { scope: "workflow", workflow, reason }
            : { scope: "tenant", reason },
        );
        await queries.invalidateQueries({ queryKey: ["pauses"] });
      }}
      onClose={onClose}
    >
      <label htmlFor="pause-workflow">Which runs</label>
      <select id="pause-workflow" name="workflow">
        {names.map((name) => (
          <option key={name} value={name}>
            Runs of {name}
          </option>
        ))}
        <option value="">All runs of your tenant</option>
      </select>
      <p className="quiet">
        Hops that are under way go on to their next safe place. Nothing new is taken up.
      </p>
    </Ask>
  );
}

function LiftPause({ pause, onClose }: { pause: wire.PauseView; onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  return (
    <Ask
      title={`Lift the pause: ${nameOf(pause)}`}
      verb="Lift"
      reason="Why? This is kept with the pause."
      act={async (reason) => {
        await client.liftPause(pause.pauseId, reason);
        await queries.invalidateQueries({ queryKey: ["pauses"] });
      }}
      onClose={onClose}
    />
  );
}
