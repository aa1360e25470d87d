import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../parts/empty.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Counts } from "./counts.tsx";
import { Filters } from "./filters.tsx";
import { RunList } from "./list.tsx";
import type { RunSearch } from "./search.ts";
import { SubmitButton } from "./submit.tsx";
import { useRuns } from "./use-runs.ts";
import "./runs.css";

const route = getRouteApi("/runs");

/** All runs of the tenant, the newest first. */
export function RunsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [firstInView, setFirstInView] = useState(0);
  const runs = useRuns(search, firstInView);
  const setSearch = (next: RunSearch): void => {
    setFirstInView(0);
    void navigate({ to: "/runs", search: next });
  };
  return (
    <div className="page runs-page">
      <div className="page-head">
        <h1>Runs</h1>
        <div className="actions">
          <SubmitButton />
        </div>
      </div>
      <Counts search={search} />
      <Filters search={search} onChange={setSearch} />
      <ProblemNote error={runs.error} />
      {runs.rows.length > 0 && <RunList runs={runs} onLook={setFirstInView} />}
      {!runs.isLoading && runs.rows.length === 0 && runs.isMore && (
        <NothingYet isLoading={runs.isLoadingMore} onMore={runs.loadMore} />
      )}
      {!runs.isLoading && runs.rows.length === 0 && !runs.isMore && runs.error === null && (
        <Nothing isFiltered={Object.keys(search).length > 0} onClear={() => setSearch({})} />
      )}
    </div>
  );
}

/** A filter that means few of very many looks at some thousands at a time. */
function NothingYet({ isLoading, onMore }: { isLoading: boolean; onMore: () => void }) {
  return (
    <Empty title="None of the newest runs is like that">
      <button type="button" disabled={isLoading} onClick={onMore}>
        {isLoading ? "Looking…" : "Look at older ones"}
      </button>
    </Empty>
  );
}

function Nothing({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (isFiltered) {
    return (
      <Empty title="No run is like that">
        <button type="button" onClick={onClear}>
          Show all runs
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has run yet">
      <p>
        Ask for a run with <code>ghouls submit hello</code>, with the client, or with{" "}
        <code>POST /v1/runs</code>: it shows up here by itself.
      </p>
    </Empty>
  );
}
