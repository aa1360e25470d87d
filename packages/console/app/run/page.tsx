import { isTerminalRun, type wire } from "@ghouls/core";
import { ProblemError } from "@ghouls/client";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Tabs } from "radix-ui";
import type { ReactNode } from "react";
import { Empty } from "../parts/empty.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { RunStatusPill } from "../parts/status.tsx";
import { Actions } from "./actions.tsx";
import { Bodies } from "./bodies.tsx";
import { Containment } from "./containment.tsx";
import { Evidence } from "./evidence.tsx";
import { Head, Sentence } from "./head.tsx";
import { LiveView } from "./live.tsx";
import { RUN_TABS, type RunTab } from "./search.ts";
import { TimelineList } from "./timeline.tsx";
import { useLive } from "./use-live.ts";
import { useOwners, useRun, useTimeline } from "./use-run.ts";
import "./run.css";

const route = getRouteApi("/runs/$runId");

/** All that is known of one run. */
export function RunPage() {
  const { runId } = route.useParams();
  const run = useRun(runId);
  if (run.error instanceof ProblemError && run.error.status === 404) {
    return (
      <div className="page">
        <h1>There is no such run</h1>
        <Empty title={`No run of yours has the id ${runId}`}>
          <Link to="/runs">All runs</Link>
        </Empty>
      </div>
    );
  }
  if (run.data === undefined) {
    return (
      <div className="page">
        <ProblemNote error={run.error} />
      </div>
    );
  }
  return <Known key={runId} run={run.data} error={run.error} />;
}

function Known({ run, error }: { run: wire.RunView; error: Error | null }) {
  const isOver = isTerminalRun(run.status);
  const timeline = useTimeline(run.runId, isOver);
  const owners = useOwners(run.runId, isOver);
  const live = useLive(run.runId);
  const { tab = "timeline" } = route.useSearch();
  const navigate = useNavigate();
  const entries = timeline.data?.entries ?? [];
  const isHeld = entries.some((entry) => entry.kind === "delivery" && entry.status === "HELD");
  const open = run.containment.filter(({ acknowledgedAt }) => acknowledgedAt === null).length;
  const counts: Partial<Record<RunTab, number>> = {
    timeline: run.steps,
    ...(open === 0 ? {} : { containment: open }),
  };
  const shown: Readonly<Record<RunTab, () => ReactNode>> = {
    timeline: () => (
      <>
        <ProblemNote error={timeline.error} />
        <TimelineList entries={entries} owners={owners} />
      </>
    ),
    live: () => <LiveView live={live} isOver={isOver} />,
    data: () => <Bodies run={run} />,
    containment: () => <Containment run={run} />,
    evidence: () => <Evidence runId={run.runId} />,
  };
  return (
    <div className="page run-page">
      <div className="page-head">
        <h1>
          {run.workflow.name} <span className="quiet">v{run.workflow.version}</span>
        </h1>
        <RunStatusPill status={run.status} />
        <Actions run={run} isHeld={isHeld} />
      </div>
      <ProblemNote error={error} />
      <Sentence run={run} entries={entries} />
      <Head run={run} />
      <Tabs.Root
        value={tab}
        onValueChange={(next) =>
          void navigate({
            to: "/runs/$runId",
            params: { runId: run.runId },
            search: next === "timeline" ? {} : { tab: next as RunTab },
            replace: true,
            resetScroll: false,
          })
        }
      >
        <Tabs.List className="tabs" aria-label="About this run">
          {RUN_TABS.map((each) => (
            <Tabs.Trigger key={each} value={each}>
              {NAMES[each]}
              {counts[each] !== undefined && <span className="count">{counts[each]}</span>}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value={tab} className="tab" tabIndex={-1}>
          {shown[tab]()}
        </Tabs.Content>
      </Tabs.Root>
    </div>
  );
}

const NAMES: Readonly<Record<RunTab, string>> = {
  timeline: "Timeline",
  live: "Live",
  data: "Request and result",
  containment: "Containment",
  evidence: "Evidence",
};
