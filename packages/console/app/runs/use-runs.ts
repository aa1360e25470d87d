import type { wire } from "@ghouls/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { useClient } from "../session/gate.tsx";
import { queryOf, type RunSearch } from "./search.ts";

const FIRST_PAGE = 50;
const NEXT_PAGE = 200;
/** Milliseconds between two looks at what is in view. */
const LOOK_MS = 2_500;

export interface Runs {
  readonly rows: readonly wire.RunSummary[];
  readonly isLoading: boolean;
  readonly isMore: boolean;
  readonly isLoadingMore: boolean;
  readonly error: Error | null;
  readonly loadMore: () => void;
}

/**
 * The list, loaded page by page as one goes down, and live where one looks: the page in view is read again and again, and what
 * is new comes in at the top. Pages out of sight are not asked for.
 * @param firstInView index of the topmost row that is seen
 */
export function useRuns(search: RunSearch, firstInView: number): Runs {
  const client = useClient();
  // A moving "24 hours ago" would make every look another list.
  const query = useMemo(() => queryOf(search, Date.now()), [search]);
  const key = ["runs", search] as const;
  const pages = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      client.listRuns({
        ...query,
        signal,
        limit: pageParam === null ? FIRST_PAGE : NEXT_PAGE,
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
  });
  const loaded = pages.data;
  const inView = useMemo(() => pageAt(loaded?.pages ?? [], firstInView), [loaded, firstInView]);
  const top = useLook("top", search, true, query, null);
  const cursor = (loaded?.pageParams as (string | null)[] | undefined)?.[inView] ?? null;
  const here = useLook("here", search, cursor !== null, query, cursor);
  const fresh = useFresh(search, [top, here]);
  const rows = useMemo(() => merged(loaded?.pages ?? [], fresh), [loaded, fresh]);
  return {
    rows,
    isLoading: pages.isPending,
    isMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    error: pages.error,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
    },
  };
}

/** A page that is read again and again. */
function useLook(
  which: string,
  search: RunSearch,
  enabled: boolean,
  query: object,
  cursor: string | null,
): wire.RunPage | undefined {
  const client = useClient();
  return useQuery({
    queryKey: ["runs-look", which, search, cursor],
    queryFn: ({ signal }) =>
      client.listRuns({
        ...query,
        signal,
        limit: cursor === null ? FIRST_PAGE : NEXT_PAGE,
        ...(cursor === null ? {} : { cursor }),
      }),
    enabled,
    refetchInterval: LOOK_MS,
  }).data;
}

/** What looks have brought, the newest of each run; forgotten with the filter. */
function useFresh(
  search: RunSearch,
  looks: readonly (wire.RunPage | undefined)[],
): ReadonlyMap<string, wire.RunSummary> {
  const kept = useRef({ search, runs: new Map<string, wire.RunSummary>() });
  return useMemo(() => {
    if (kept.current.search !== search) kept.current = { search, runs: new Map() };
    const runs = new Map(kept.current.runs);
    for (const look of looks) for (const run of look?.runs ?? []) runs.set(run.runId, run);
    kept.current.runs = runs;
    return runs;
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the looks are what is listed
  }, [search, ...looks]);
}

function pageAt(pages: readonly wire.RunPage[], row: number): number {
  let end = 0;
  for (const [index, page] of pages.entries()) {
    end += page.runs.length;
    if (row < end) return index;
  }
  return Math.max(0, pages.length - 1);
}

/** What was loaded, with what has changed since and what is newer above it. */
function merged(
  pages: readonly wire.RunPage[],
  fresh: ReadonlyMap<string, wire.RunSummary>,
): readonly wire.RunSummary[] {
  const loaded = pages.flatMap((page) => page.runs);
  const known = new Set(loaded.map(({ runId }) => runId));
  const newest = loaded[0]?.createdAt ?? "";
  const above = [...fresh.values()]
    .filter((run) => !known.has(run.runId) && run.createdAt >= newest)
    .toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1));
  return [...above, ...loaded.map((run) => fresh.get(run.runId) ?? run)];
}
