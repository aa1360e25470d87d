import { OPEN_RUN, sqlStates, type OnWorkerLoss, type WorkflowPin } from "@ghouls/core";
import type { Executor, Row } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A release as a deploy records it. */
export interface NewRelease {
  readonly workflow: WorkflowPin;
  /** SHA-256 of its bundle: its name in the store. */
  readonly bundle: string;
  readonly bytes: number;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly deadlineMs: number | null;
  /** Canonical JSON of what the workflow digest is made of. */
  readonly basisText: string;
  /** Digests of the workflows whose runs it may start as children. */
  readonly starts: readonly string[];
}

/** A release that the ledger knows. */
export interface RecordedRelease {
  readonly workflow: WorkflowPin;
  readonly bundle: string;
  readonly bytes: number;
  readonly onWorkerLoss: OnWorkerLoss;
  readonly deadlineMs: number | null;
  readonly basisText: string;
  /** The build that had it last. */
  readonly build: string;
  readonly deployedAt: Date;
  /** When it was given up; null while it is there. */
  readonly removedAt: Date | null;
}

const COLUMNS = `r.workflow_name, r.workflow_version, r.workflow_digest, r.bundle_digest, r.bytes, r.on_worker_loss, r.deadline_ms,
  r.basis_text, r.build, r.deployed_at, r.removed_at`;

const RECORD = writeStatement(
  "releases.record",
  `
insert into ghouls.releases as r (workflow_name, workflow_version, workflow_digest, bundle_digest, bytes, on_worker_loss,
  deadline_ms, basis_text, starts, build, recorded_at, deployed_at)
select q.name, q.version, q.digest, q.bundle, q.bytes, q.on_worker_loss, q.deadline_ms, q.basis,
  array(select jsonb_array_elements_text(q.starts::jsonb)), $10, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::bigint[], $8::text[], $9::text[])
  as q(name, version, digest, bundle, bytes, on_worker_loss, deadline_ms, basis, starts)
order by q.name, q.digest, q.bundle
on conflict (workflow_name, workflow_digest, bundle_digest) do update
  set build = excluded.build, deployed_at = excluded.deployed_at, removed_at = null, deleted_at = null
returning r.recorded_at = r.deployed_at as is_new`,
);

/** Of two bundles of one digest the newer: what is not in the digest, such as a package, has changed. */
const OF_PIN = readStatement(
  "releases.of-pin",
  `
select ${COLUMNS}
from ghouls.releases r
where r.workflow_name = $1 and r.workflow_digest = $2
order by r.removed_at is not null, r.deployed_at desc, r.recorded_at desc, r.bundle_digest
limit 1`,
);

const NEWEST = readStatement(
  "releases.newest",
  `
select ${COLUMNS}
from ghouls.releases r
where r.workflow_name = $1 and ($2::integer is null or r.workflow_version = $2)
order by r.deployed_at desc, r.workflow_version desc, r.recorded_at desc, r.bundle_digest
limit 1`,
);

const ALL = readStatement(
  "releases.all",
  `
with open as materialized (
  select run.workflow_name as name, run.workflow_digest as digest, count(*)::integer as runs
  from ghouls.runs run
  where run.status in (${sqlStates(OPEN_RUN)})
  group by run.workflow_name, run.workflow_digest
)
select ${COLUMNS}, coalesce(open.runs, 0) as runs
from ghouls.releases r
left join open on open.name = r.workflow_name and open.digest = r.workflow_digest
where r.removed_at is null
order by r.workflow_name, r.workflow_version, r.deployed_at, r.recorded_at, r.bundle_digest`,
);

/** Says that a deploy has these, and that their bundles are in the store. Answers how many the ledger did not know. */
export async function recordReleases(
  executor: Executor,
  releases: readonly NewRelease[],
  build: string,
): Promise<number> {
  const found = await executor.run(RECORD, [
    releases.map(({ workflow }) => workflow.name),
    releases.map(({ workflow }) => workflow.version),
    releases.map(({ workflow }) => workflow.digest),
    releases.map(({ bundle }) => bundle),
    releases.map(({ bytes }) => bytes),
    releases.map(({ onWorkerLoss }) => onWorkerLoss),
    releases.map(({ deadlineMs }) => deadlineMs),
    releases.map(({ basisText }) => basisText),
    releases.map(({ starts }) => JSON.stringify(starts)),
    build,
  ]);
  return found.filter((row) => rows(row).boolean("is_new")).length;
}

/** The release that carries runs of a pin, or the last one that was given up. Null where there never was one. */
export async function readReleaseOf(
  executor: Executor,
  pin: Pick<WorkflowPin, "name" | "digest">,
): Promise<RecordedRelease | null> {
  const [row] = await executor.run(OF_PIN, [pin.name, pin.digest]);
  return row === undefined ? null : releaseOf(row);
}

/** The release of a workflow, of one of its versions where that is named, that was deployed last. */
export async function readNewestRelease(
  executor: Executor,
  name: string,
  version: number | null,
): Promise<RecordedRelease | null> {
  const [row] = await executor.run(NEWEST, [name, version]);
  return row === undefined ? null : releaseOf(row);
}

/** All that are not given up, each with the open runs of all tenants that are pinned to its digest. It looks at every open run. */
export async function readReleases(
  executor: Executor,
): Promise<readonly (RecordedRelease & { readonly runs: number })[]> {
  const found = await executor.run(ALL, []);
  return found.map((row) => ({ ...releaseOf(row), runs: rows(row).number("runs") }));
}

function releaseOf(row: Row): RecordedRelease {
  const r = rows(row);
  return {
    workflow: {
      name: r.text("workflow_name"),
      version: r.number("workflow_version"),
      digest: r.text("workflow_digest"),
    },
    bundle: r.text("bundle_digest"),
    bytes: r.number("bytes"),
    onWorkerLoss: r.text("on_worker_loss") as OnWorkerLoss,
    deadlineMs: r.numberOrNull("deadline_ms"),
    basisText: r.text("basis_text"),
    build: r.text("build"),
    deployedAt: r.date("deployed_at"),
    removedAt: r.dateOrNull("removed_at"),
  };
}
