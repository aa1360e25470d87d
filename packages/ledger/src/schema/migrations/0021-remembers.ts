import type { Migration } from "./migration.ts";

/**
 * How long a service knows a key. It is counted from the moment at which a submission was claimed: what was sent then may have
 * ended at once, and been forgotten that much later. An engine of before writes neither column; its attempts count from the
 * moment at which they were made, which is earlier.
 */
export const remembers: Migration = {
  number: 21,
  name: "remembers",
  sql: `
alter table ghouls.attempts
  add column remembers_seconds double precision check (remembers_seconds > 0),
  add column sends_from timestamptz;
comment on column ghouls.attempts.remembers_seconds is
  'How long its service knows a key, from the first moment at which it may have been sent; null: for ever.';
comment on column ghouls.attempts.sends_from is
  'The first moment at which whoever holds the token, or held it last, can have sent.';
`,
};
