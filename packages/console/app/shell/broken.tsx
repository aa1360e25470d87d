import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { ProblemNote } from "../parts/problem.tsx";

/** A page whose code threw. What the ledger holds is untouched by that. */
export function PageBroken({ error, reset }: ErrorComponentProps) {
  return (
    <div className="page">
      <h1>This page has failed</h1>
      <ProblemNote error={error} />
      <p className="actions">
        <button type="button" onClick={reset}>
          Try again
        </button>
      </p>
    </div>
  );
}

export function NotFound() {
  return (
    <div className="page">
      <h1>There is no such page</h1>
      <p>
        <Link to="/runs">All runs</Link>
      </p>
    </div>
  );
}
