import type { Migration } from "./migration.ts";

/**
 * Lists of runs whose filters narrow each other (design.md §6). The index by workflow gets the status: a page of a workflow is a
 * scan for each status, as a page of statuses is. An engine of before finds its pages by the other indexes.
 */
export const lists: Migration = {
  number: 25,
  name: "lists",
  sql: `
create index runs_of_workflow on ghouls.runs (tenant_id, workflow_name, status, created_at desc, run_id desc);
drop index ghouls.runs_by_workflow;
create index runs_of_parent on ghouls.runs (tenant_id, parent_run_id, created_at desc, run_id desc) where parent_run_id is not null;
`,
};
