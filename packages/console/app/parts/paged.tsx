import type { UseInfiniteQueryResult, InfiniteData } from "@tanstack/react-query";

/** The button below a list that has more. */
export function More({
  query,
}: {
  query: Pick<
    UseInfiniteQueryResult<InfiniteData<unknown>>,
    "hasNextPage" | "isFetchingNextPage" | "fetchNextPage"
  >;
}) {
  if (!query.hasNextPage) return null;
  return (
    <p>
      <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.isFetchingNextPage ? "…" : "Show more"}
      </button>
    </p>
  );
}
