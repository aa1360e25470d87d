import type { Migration } from "./migration.ts";

/**
 * A redrive is a new run that goes on from the journal of one that has failed or was cancelled. A run has no foreign key to
 * another. What is copied stays as it was stored, so each copy says for which run that was: a codec may bind to it. A restart
 * brings an input of the run's own; a trigger says so, so that no engine of before forgets.
 */
export const redrives: Migration = {
  number: 16,
  name: "redrives",
  sql: `
alter table ghouls.runs
  add column redrive_of uuid,
  add column input_stored_for uuid,
  add constraint runs_redrive check (redrive_of is null or (parent_run_id is null and first_run_id <> run_id));
comment on column ghouls.runs.redrive_of is 'The ended run whose work it takes up again.';
comment on column ghouls.runs.input_stored_for is 'The run for which its input was stored, where that was another.';
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, its last restart, or what that of the run began with that it redrives; null: its admission.';
create unique index runs_redrive_of on ghouls.runs (tenant_id, redrive_of) where redrive_of is not null;
create index runs_of_chain on ghouls.runs (tenant_id, first_run_id) where redrive_of is not null;

alter table ghouls.journal add column stored_for uuid;
comment on column ghouls.journal.stored_for is 'The run for which its result was stored, where that was another.';

create function ghouls.own_input() returns trigger
  language plpgsql
  as $function$
begin
  new.input_stored_for := null;
  return new;
end
$function$;
create trigger own_input before update of epoch on ghouls.runs
  for each row when (new.epoch <> old.epoch and old.input_stored_for is not null)
  execute function ghouls.own_input();
`,
};
