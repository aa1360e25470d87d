import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { exact } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { columnsOf, type Column } from "./chart.ts";
import { labelsOf, type RunSearch } from "./search.ts";

const LOOK_MS = 10_000;
const DAY = 24;
/** The longest that the API counts over. */
const WEEK = 168;

/** Runs over time by what became of them: of the last day, or of as long as the list is asked for. */
export function Counts({ search }: { search: RunSearch }) {
  const client = useClient();
  const { workflow, label } = search;
  const hours = Math.min(WEEK, search.hours ?? DAY);
  const { data } = useQuery({
    queryKey: ["run-counts", hours, workflow, label],
    queryFn: ({ signal }) =>
      client.countRuns({
        hours,
        signal,
        ...(workflow === undefined ? {} : { workflow }),
        ...(label === undefined ? {} : { labels: labelsOf(label) }),
      }),
    refetchInterval: LOOK_MS,
  });
  const columns = useMemo(() => columnsOf(data?.buckets ?? []), [data]);
  if (data === undefined) return <div className="counts" aria-hidden="true" />;
  const span =
    hours === 1
      ? "the last hour"
      : `the last ${hours % DAY === 0 && hours > DAY ? `${hours / DAY} days` : `${hours} hours`}`;
  const total = data.complete ? String(data.counted) : `more than ${data.counted}`;
  return (
    <figure className="counts" aria-label={`Runs of ${span}: ${total}`}>
      <svg viewBox={`0 0 ${columns.length} 1`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map((column, index) => (
          <ColumnOf key={column.at} column={column} x={index} />
        ))}
      </svg>
      <figcaption className="quiet small">
        <span>{exact(data.since)}</span>
        <span>
          {total} {data.counted === 1 ? "run" : "runs"} in {span}
          {!data.complete && "; only the newest are counted"}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function ColumnOf({ column, x }: { column: Column; x: number }) {
  const told = column.pieces.map(({ tone, count }) => `${count} ${MEANING[tone]}`).join(", ");
  return (
    <g>
      <rect className="counts-ground" x={x + 0.06} width={0.88} y={0} height={1} />
      {column.pieces.map(({ tone, from, to }) => (
        <rect
          key={tone}
          className={`counts-piece tone-${tone}`}
          x={x + 0.06}
          width={0.88}
          y={1 - to}
          height={to - from}
        />
      ))}
      <title>{`${exact(column.at)}: ${told === "" ? "none" : told}`}</title>
    </g>
  );
}

const MEANING = {
  good: "done",
  bad: "failed",
  off: "cancelled",
  ending: "ending",
  live: "running",
  wait: "waiting",
  person: "waiting for a person",
  still: "queued",
} as const;
