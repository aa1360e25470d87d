import type { Migration } from "./migration.ts";

/** Where a trace goes on: a hop of an admission is part of its caller's trace, one that was brought back is linked to the hop before it. */
export const traces: Migration = {
  number: 20,
  name: "traces",
  sql: `
alter table ghouls.deliveries
  add column made_in_trace text check (length(made_in_trace) <= 60),
  add column hop_trace text check (length(hop_trace) <= 60);
comment on column ghouls.deliveries.made_in_trace is 'W3C traceparent of the request that has admitted its run; null where nobody traces.';
comment on column ghouls.deliveries.hop_trace is 'W3C traceparent of the hop that carried it.';

create table ghouls.dead_letters (
  queue text not null,
  message_id text not null,
  body_digest text not null,
  bytes integer not null,
  reason text not null,
  first_seen_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (queue, message_id)
);
comment on table ghouls.dead_letters is
  'Messages of dead-letter queues that name no delivery of this ledger: they stay there for a person. Belongs to the deployment, so it has no tenant.';
`,
};
