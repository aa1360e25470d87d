import type { WorkflowPin } from "@ghouls/core";
import type { Executor } from "./database.ts";
import { writeStatement } from "./statement.ts";

const RECORD = writeStatement(
  "workflows.record",
  `
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`,
);

/** Says that a build has these workflows; called once when a worker or an API starts. */
export async function recordWorkflows(
  executor: Executor,
  pins: readonly WorkflowPin[],
  build: string,
): Promise<void> {
  await executor.run(RECORD, [
    pins.map((pin) => pin.name),
    pins.map((pin) => pin.version),
    pins.map((pin) => pin.digest),
    build,
  ]);
}
