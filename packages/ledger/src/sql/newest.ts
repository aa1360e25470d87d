import type { Row } from "../connection/database.ts";
import { rows } from "./rows.ts";

/** Where a list that shows the newest first goes on: behind this row. */
export interface NewestPosition {
  /** Of its time; a Date would lose them, and meet its row again. */
  readonly micros: string;
  readonly id: string;
}

/** Behind the position in the parameters `$first` and the one after it, which are null for the first page. */
export const olderThan = (time: string, id: string, first: number): string =>
  `($${first}::bigint is null
    or (${time}, ${id}) < (timestamptz 'epoch' + $${first} * interval '1 microsecond', $${first + 1}::uuid))`;

/** The rows of a page that was read with one more than it shows, and where the next one begins. */
export function newestOf<T>(
  found: readonly Row[],
  limit: number,
  idColumn: string,
  read: (row: Row) => T,
): { readonly shown: readonly T[]; readonly next: NewestPosition | undefined } {
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    shown: shown.map(read),
    next: last && { micros: rows(last).text("micros"), id: rows(last).text(idColumn) },
  };
}

/** Which of a tenant's waits are listed. */
export interface NewestFilter<Status> {
  readonly runId?: string;
  readonly status?: Status;
}

/** Which page of them. */
export interface NewestPage {
  readonly limit: number;
  readonly after?: NewestPosition;
}

/** The six parameters of a statement that reads such a page: tenant, rows, run, status and position. */
export function newestValues(
  tenantId: string,
  { runId, status }: NewestFilter<string>,
  { limit, after }: NewestPage,
): unknown[] {
  return [tenantId, limit + 1, runId ?? null, status ?? null, after?.micros ?? null, after?.id ?? null];
}
