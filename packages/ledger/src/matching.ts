import { OPEN_RUN, type RunStatus } from "@ghouls/core";
import type { Executor } from "./connection/database.ts";
import { readRunPage } from "./run-pages.ts";

/** Which of a tenant's runs are meant that have not ended. Times are of their admission. */
export interface MatchingFilter {
  readonly status?: readonly RunStatus[] | undefined;
  readonly workflow?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
  readonly parentRunId?: string | undefined;
  readonly attention?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface MatchingRun {
  readonly runId: string;
  readonly status: RunStatus;
  readonly workflow: string;
}

/**
 * A page of a tenant's runs that a filter means and that have not ended, newest first, and the cursor of the next one: as a list
 * has them, so it may be short, or empty, and go on all the same. What is admitted after the first page is not met by the others.
 * @throws GhoulsError invalid_request for a cursor of another form
 */
export async function readMatchingRuns(
  executor: Executor,
  tenantId: string,
  { status = OPEN_RUN, ...filter }: MatchingFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ runs: MatchingRun[]; nextCursor: string | null }> {
  const open = OPEN_RUN.filter((one) => status.includes(one));
  const { runs, nextCursor } = await readRunPage(executor, tenantId, { ...filter, status: open }, page);
  return {
    runs: runs.map((run) => ({ runId: run.runId, status: run.status, workflow: run.workflow.name })),
    nextCursor,
  };
}
