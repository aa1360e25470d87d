import type { wire } from "@ghouls/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { More } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { useMay } from "../session/me.ts";

const LOOK_MS = 15_000;

/** What judgements of the ledger have found, and who said that it may stand. */
export function Faults() {
  const client = useClient();
  const [asked, setAsked] = useState<wire.FaultView>();
  const mayAcknowledge = useMay("integrity:acknowledge");
  const query = useInfiniteQuery({
    queryKey: ["faults"],
    queryFn: ({ pageParam, signal }) =>
      client.listFaults({ signal, ...(pageParam === null ? {} : { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    refetchInterval: LOOK_MS,
  });
  const faults = query.data?.pages.flatMap((page) => page.faults) ?? [];
  return (
    <section className="sheet" aria-labelledby="faults">
      <h2 id="faults">Integrity</h2>
      <ProblemNote error={query.error} />
      {query.data !== undefined && faults.length === 0 && (
        <p className="quiet">
          No judgement of the ledger has found a fault. <code>ghouls doctor</code> judges now.
        </p>
      )}
      <ul className="rows">
        {faults.map((fault) => (
          <li key={fault.faultId}>
            <p>
              <FaultMark fault={fault} /> <strong>{fault.check}</strong>{" "}
              {fault.runId !== null && (
                <Link to="/runs/$runId" params={{ runId: fault.runId }}>
                  its run
                </Link>
              )}{" "}
              <span className="quiet small">
                found <Ago at={fault.foundAt} /> by <Shown text={fault.foundBy} />
              </span>
            </p>
            <p className="wrap">
              <Shown text={`${fault.subject}: ${fault.detail}`} />
            </p>
            {fault.acknowledged !== null && (
              <p className="quiet">
                <Shown text={fault.acknowledged.by} /> said <Ago at={fault.acknowledged.at} />:{" "}
                <Shown text={fault.acknowledged.reason} />
              </p>
            )}
            {fault.open && mayAcknowledge && (
              <p className="actions">
                <button type="button" onClick={() => setAsked(fault)}>
                  Acknowledge
                </button>
              </p>
            )}
          </li>
        ))}
      </ul>
      <More query={query} />
      {asked !== undefined && <Acknowledge fault={asked} onClose={() => setAsked(undefined)} />}
    </section>
  );
}

function FaultMark({ fault }: { fault: wire.FaultView }) {
  if (fault.goneAt !== null) return <span className="pill tone-off">gone</span>;
  return fault.open ? (
    <span className="pill tone-bad">open</span>
  ) : (
    <span className="pill tone-still">known</span>
  );
}

function Acknowledge({ fault, onClose }: { fault: wire.FaultView; onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  return (
    <Ask
      title="Acknowledge this fault"
      verb="Acknowledge"
      reason="Why may it stand? This is kept with it."
      act={async (reason) => {
        await client.acknowledgeFault(fault.faultId, reason);
        await queries.invalidateQueries({ queryKey: ["faults"] });
      }}
      onClose={onClose}
    >
      <p>
        An open fault stops a start and a deploy. Acknowledged, it stays on record and stops neither. Nothing
        in the ledger is changed.
      </p>
    </Ask>
  );
}
