import type { WorkflowPin } from "@ghouls/core";
import type { Executor } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const RECORD = writeStatement(
  "workflows.record",
  `
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`,
);

const BUILD_OF = readStatement(
  "workflows.build-of",
  `
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`,
);

/** Says that a build carries runs of these pins: before it carries a run or admits one. */
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

/**
 * The build that last said it carries runs of this pin; null where none ever did. A digest is of one version, but code of
 * another version may accept it.
 */
export async function readBuildOf(executor: Executor, pin: WorkflowPin): Promise<string | null> {
  const [row] = await executor.run(BUILD_OF, [pin.name, pin.digest]);
  return row === undefined ? null : rows(row).text("build");
}
