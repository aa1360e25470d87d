import { ProblemError } from "@ghouls/client";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import type { Session } from "./session.ts";

/** What the pages have read. A token that is refused anywhere leads to the door, and from there back to the same page. */
export function createQueries(session: Session): QueryClient {
  const onError = (error: unknown): void => {
    if (error instanceof ProblemError && error.status === 401) {
      session.signOut("This token is not known any more: it was revoked, or has expired.");
    }
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    // The client has tried again already.
    defaultOptions: { queries: { retry: false, staleTime: 1_000 }, mutations: { retry: false } },
  });
  session.subscribe(() => {
    if (session.state().at !== "in") queries.clear();
  });
  return queries;
}
