import type { Migration } from "./migration.ts";

/** Words of whoever asked for a run, to find it by (design.md §6). An engine of before writes none, and its runs have none. */
export const labels: Migration = {
  number: 23,
  name: "labels",
  sql: `
create table ghouls.labels (
  tenant_id text not null,
  run_id uuid not null,
  key text not null check (key ~ '^[a-z0-9][a-z0-9._/-]{0,62}$'),
  value text not null check (char_length(value) <= 200),
  created_at timestamptz not null,
  primary key (tenant_id, run_id, key),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.labels is
  'Labels of runs, as they were asked for; they never change. created_at is that of the run, so that a page by label needs one index.';
create index labels_newest on ghouls.labels (tenant_id, key, value, created_at desc, run_id desc);
`,
};
