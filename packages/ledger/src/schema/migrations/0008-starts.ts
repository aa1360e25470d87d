import type { Migration } from "./migration.ts";

/** A run may start later than it is admitted, and starts anew with each `ctx.restart`. */
export const starts: Migration = {
  number: 8,
  name: "starts",
  sql: `
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`,
};
