import type { Row } from "../connection/database.ts";
import type { DueLook } from "../sql/due.ts";
import type { PassPage } from "../sql/keyset.ts";
import { rows } from "../sql/rows.ts";

/** `$2` and `$3`: where the page before ended; `$4`: until when. Owners of evidence are texts, so they sort as texts. */
export const behindOwner = (time: string, owner: string): string =>
  `${time} >= timestamptz 'epoch' + $2::bigint * interval '1 microsecond' and ${time} <= ghouls.clock()
    and ${time} <= coalesce($4::timestamptz, ghouls.clock())
    and (${time}, (${owner}) collate "C") > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)`;

/** The four parameters of a page. */
export function lookValues({ limit, after, until }: DueLook): [number, string, string, Date | null] {
  return [limit, after?.micros ?? "0", after?.runId ?? "", until ?? null];
}

/** A page of rows with `micros` and `owner`; those of which `read` makes nothing are behind the position all the same. */
export function ownersOf<T>(
  found: readonly Row[],
  limit: number,
  read: (row: Row) => T | undefined,
): PassPage<T> {
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    found: found.flatMap((row) => read(row) ?? []),
    next: last && { micros: rows(last).text("micros"), runId: rows(last).text("owner") },
  };
}
