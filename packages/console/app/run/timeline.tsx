import type { wire } from "@ghouls/core";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { useNow } from "../parts/clock.tsx";
import { rowsOf, type Row } from "./hops.ts";
import { CallRow, FactRow, HopRow, MomentRow } from "./timeline-rows.tsx";
import type { Owners } from "./waits.ts";

const ROW_PX = 36;

interface TimelineProps {
  readonly entries: readonly wire.TimelineEntry[];
  readonly owners: Owners;
}

/** What has happened, hop by hop. Only rows in view are in the page: a run may have thousands of steps. */
export function TimelineList({ entries, owners }: TimelineProps) {
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(() => rowsOf(entries, folded), [entries, folded]);
  const list = useRef<HTMLUListElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    setMargin((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: 16,
    scrollMargin: margin,
  });
  const now = useNow();
  const fold = (seq: number): void =>
    setFolded((before) => {
      const next = new Set(before);
      if (!next.delete(seq)) next.add(seq);
      return next;
    });
  return (
    <ul ref={list} className="timeline" aria-label="Timeline" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index];
        return row === undefined ? null : (
          <li
            key={keyOf(row, item.index)}
            style={{ transform: `translateY(${item.start - margin}px)`, height: ROW_PX }}
            aria-setsize={rows.length}
            aria-posinset={item.index + 1}
          >
            <RowOf row={row} owners={owners} now={now} folded={folded} fold={fold} />
          </li>
        );
      })}
    </ul>
  );
}

interface RowProps {
  readonly row: Row;
  readonly owners: Owners;
  readonly now: number;
  readonly folded: ReadonlySet<number>;
  readonly fold: (seq: number) => void;
}

function RowOf({ row, owners, now, folded, fold }: RowProps) {
  switch (row.kind) {
    case "admitted":
      return <MomentRow at={row.at} text="Admitted" tone="still" />;
    case "finished": {
      const { at, status, errorCode } = row.entry;
      const tone = status === "DONE" ? "good" : status === "FAILED" ? "bad" : "off";
      return <MomentRow at={at} text={errorCode === null ? status : `${status}: ${errorCode}`} tone={tone} />;
    }
    case "hop":
      return (
        <HopRow hop={row.hop} now={now} isFolded={folded.has(row.hop.seq)} onFold={() => fold(row.hop.seq)} />
      );
    case "call":
      return <CallRow call={row.call} hop={row.hop} owners={owners} now={now} />;
    case "fact":
      return <FactRow entry={row.entry} />;
  }
}

function keyOf(row: Row, index: number): string {
  if (row.kind === "hop") return `hop ${row.hop.seq}`;
  return row.kind === "call" ? `call ${row.call.ordinal}` : `${row.kind} ${index}`;
}
