import type { Migration } from "./migration.ts";

/** Holds end by themselves: the next one to expire is found by an index. */
export const holds: Migration = {
  number: 4,
  name: "holds",
  sql: `
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`,
};
