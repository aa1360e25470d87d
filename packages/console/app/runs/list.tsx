import type { wire } from "@ghouls/core";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { Link, useNavigate } from "@tanstack/react-router";
import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Shown } from "../parts/shown.tsx";
import { RunStatusPill } from "../parts/status.tsx";
import { Ago, Span } from "../parts/time.tsx";
import { isTyping } from "./filters.tsx";
import type { Runs } from "./use-runs.ts";

const ROW_PX = 58;

interface RunListProps {
  readonly runs: Runs;
  /** Called with the index of the topmost row in view. */
  readonly onLook: (index: number) => void;
}

/** Only rows in view are in the page, however many there are. */
export function RunList({ runs, onLook }: RunListProps) {
  const { rows, isMore, loadMore } = runs;
  const list = useRef<HTMLUListElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: margin,
    getItemKey: (index) => rows[index]?.runId ?? index,
  });
  const items = virtual.getVirtualItems();
  const first = virtual.range?.startIndex ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onLook(first), [first, onLook]);
  useEffect(() => {
    if (isMore && last >= rows.length - 60) loadMore();
  }, [isMore, last, rows.length, loadMore]);
  const chosen = useKeys(rows, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  return (
    <>
      <ul ref={list} className="run-list" aria-label="Runs" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const run = rows[item.index];
          return run === undefined ? null : (
            <li
              key={item.key}
              style={{ transform: `translateY(${item.start - margin}px)`, height: ROW_PX }}
              aria-setsize={isMore ? -1 : rows.length}
              aria-posinset={item.index + 1}
            >
              <Row run={run} isChosen={chosen === run.runId} />
            </li>
          );
        })}
      </ul>
      <p className="quiet small list-end" role="status">
        {isMore ? `${rows.length} loaded; more come as you go down` : `${rows.length} in all`}
      </p>
    </>
  );
}

/** j and k (or the arrows) choose a run, Enter opens it. @returns the id of the one chosen */
function useKeys(rows: readonly wire.RunSummary[], show: (index: number) => void): string | undefined {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<string>();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = rows.findIndex(({ runId }) => runId === chosen);
      if (event.key === "Enter" && at !== -1 && event.target === document.body) {
        void navigate({ to: "/runs/$runId", params: { runId: rows[at]?.runId ?? "" } });
        return;
      }
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = Math.min(rows.length - 1, Math.max(0, at + step));
      setChosen(rows[next]?.runId);
      show(next);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [rows, chosen, navigate, show]);
  return chosen;
}

const Row = memo(function Row({ run, isChosen }: { run: wire.RunSummary; isChosen: boolean }) {
  const why = run.quarantine ?? run.attention;
  return (
    <Link
      to="/runs/$runId"
      params={{ runId: run.runId }}
      className="run-row"
      aria-current={isChosen ? "true" : undefined}
    >
      <span className="run-status">
        <RunStatusPill status={run.status} />
      </span>
      <span className="run-name">
        <strong>{run.workflow.name}</strong> <span className="quiet small">v{run.workflow.version}</span>
        <span className="mono quiet small run-id">{run.runId}</span>
      </span>
      <span className="run-marks">
        {why !== null && (
          <span className="mark-attention" title={why.reason}>
            {run.quarantine === null ? "Attention" : "Quarantine"}
          </span>
        )}
        {run.pauses.length > 0 && <span className="mark-paused">Paused</span>}
        {run.errorCode !== null && <span className="mono small mark-error">{run.errorCode}</span>}
        {Object.entries(run.labels).map(([key, value]) => (
          <span key={key} className="label">
            <Shown text={`${key}:${value}`} />
          </span>
        ))}
      </span>
      <span className="run-steps number quiet">
        {run.steps} {run.steps === 1 ? "step" : "steps"}
      </span>
      <span className="run-time quiet">
        <Ago at={run.createdAt} />
        <span className="small">
          {run.startedAt === null ? "" : <Span from={run.startedAt} to={run.finishedAt} />}
        </span>
      </span>
    </Link>
  );
});
