import type { Row } from "../connection/database.ts";
import { rows } from "./rows.ts";

/** Where a page of a pass has ended. In microseconds, because a Date would lose them and meet its row again. */
export interface Position {
  readonly micros: string;
  readonly runId: string;
}

/** A page of a pass. What the pass leaves as it is stays behind it, and takes no turn of the rows after it. */
export interface PassPage<T> {
  readonly found: readonly T[];
  /** Where the next page begins; undefined where this one was not full. */
  readonly next: Position | undefined;
}

const START: Position = { micros: "0", runId: "00000000-0000-0000-0000-000000000000" };

/** The column that {@link pageOf} reads: `time` as `micros`. */
export const microsOf = (time: string): string => `(extract(epoch from ${time}) * 1000000)::bigint as micros`;

/** Behind the position in the parameters `$first` and the one after it, in the order of `time` and run id. */
export const behind = (time: string, runId: string, first: number): string =>
  `(${time}, ${runId}) > (timestamptz 'epoch' + $${first}::bigint * interval '1 microsecond', $${first + 1}::uuid)`;

/** The two parameters of {@link behind}. */
export function positionOf(after: Position | undefined): [string, string] {
  const { micros, runId } = after ?? START;
  return [micros, runId];
}

export function pageOf<T>(found: readonly Row[], limit: number, read: (row: Row) => T): PassPage<T> {
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    found: found.map(read),
    next: last && { micros: rows(last).text("micros"), runId: rows(last).text("run_id") },
  };
}
