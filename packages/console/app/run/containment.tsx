import { isTerminalRun, type wire } from "@ghouls/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { Empty } from "../parts/empty.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago, Left } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { useMay } from "../session/me.ts";
import { runKey } from "./use-run.ts";

/** What the run started and what may still act: all of it is acknowledged before the run ends. */
export function Containment({ run }: { run: wire.RunView }) {
  const mayResolve = useMay("runs:resolve") && !isTerminalRun(run.status);
  const [asked, setAsked] = useState<wire.ContainmentItem>();
  if (run.containment.length === 0) {
    return (
      <Empty title="There is nothing to contain">
        <p>
          When a run ends, everything that it started and that may still act is listed here until it is proven
          over.
        </p>
      </Empty>
    );
  }
  return (
    <ul className="items">
      {run.containment.map((item) => (
        <li key={item.id} className="sheet item">
          <p>
            <Mark item={item} /> <strong>{KINDS[item.kind]}</strong>{" "}
            {item.kind === "child" ? (
              <Link to="/runs/$runId" params={{ runId: item.subject }} className="mono">
                {item.subject}
              </Link>
            ) : (
              <Shown text={item.subject} />
            )}{" "}
            <span className="quiet small">of hop {item.enqueueSeq}</span>
          </p>
          <p className="quiet">
            <Told item={item} />
          </p>
          {item.acknowledgedAt === null && mayResolve && (
            <p className="actions">
              <button type="button" onClick={() => setAsked(item)}>
                Settle by your word
              </button>
            </p>
          )}
        </li>
      ))}
      {asked !== undefined && <Settle run={run} item={asked} onClose={() => setAsked(undefined)} />}
    </ul>
  );
}

const KINDS: Readonly<Record<wire.ContainmentItem["kind"], string>> = {
  worker: "Worker",
  effect: "Effect",
  attempt: "Job",
  child: "Child",
  undo: "Undo",
};

function Mark({ item }: { item: wire.ContainmentItem }) {
  return item.acknowledgedAt === null ? (
    <span className="pill tone-ending">open</span>
  ) : (
    <span className="pill tone-good">over</span>
  );
}

function Told({ item }: { item: wire.ContainmentItem }) {
  if (item.acknowledgedAt !== null) {
    return (
      <>
        Acknowledged <Ago at={item.acknowledgedAt} /> by {item.acknowledgedBy}:{" "}
        <Shown text={item.acknowledgement ?? ""} />
      </>
    );
  }
  return (
    <>
      {item.overAt === null ? (
        "Only a word can tell when it is over"
      ) : (
        <>
          Nothing of it can act any more <Left until={item.overAt} />
        </>
      )}
      {item.tries > 0 && `; looked at ${item.tries} times in vain`}
      {item.lastError !== null && (
        <>
          : <Shown text={item.lastError} />
        </>
      )}
    </>
  );
}

interface SettleProps {
  readonly run: wire.RunView;
  readonly item: wire.ContainmentItem;
  readonly onClose: () => void;
}

function Settle({ run, item, onClose }: SettleProps) {
  const client = useClient();
  const queries = useQueryClient();
  return (
    <Ask
      title={`Settle ${KINDS[item.kind].toLowerCase()} “${item.subject}”`}
      verb="It is over"
      danger
      reason="How do you know? This is kept with the run."
      act={async (reason) => {
        await client.resolveItem(run.runId, item.id, reason);
        await queries.invalidateQueries({ queryKey: runKey(run.runId) });
      }}
      onClose={onClose}
    >
      <p>Your word takes the place of a proof: say it only where you know that nothing of it still acts.</p>
    </Ask>
  );
}
