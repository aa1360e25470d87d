import type { Migration } from "./migration.ts";

/** While a deploy goes on, a run may meet builds that do not have its workflow: they give it back, for a bounded time. */
export const overlap: Migration = {
  number: 5,
  name: "overlap",
  sql: `
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`,
};
