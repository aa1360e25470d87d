import { readFileSync, readdirSync } from "node:fs";
import type { Parts } from "./parts.ts";

/** What the server counted of one of our statements, by its tag. */
export interface StatementCount {
  readonly calls: number;
  readonly rows: number;
  readonly meanMs: number;
}
export type StatementCounts = Readonly<Record<string, StatementCount>>;

export interface Counted<T> {
  readonly value: T;
  /** Null where the server has no pg_stat_statements. */
  readonly statements: StatementCounts | null;
  /**
   * Commits that wrote: transaction numbers that were taken. `xact_commit` of pg_stat_database comes up to ten seconds
   * late, and holds the reconciler's reads.
   */
  readonly commits: number;
  /** Milliseconds of processor time by the name of the part; null where there is no /proc. */
  readonly cpuMs: Readonly<Record<string, number>> | null;
  /** Share of the machine's processors that went to anything else, the host of a virtual machine included. */
  readonly foreignShare: number | null;
}

/** Does something, and says what it cost server and processes. */
export async function counting<T>(parts: Parts, act: () => Promise<T>): Promise<Counted<T>> {
  const able = await resetStatements(parts);
  const [xidBefore, cpuBefore, machineBefore] = [await nextXid(parts), cpuOf(parts), machineTime()];
  const value = await act();
  const [xidAfter, cpuAfter, machineAfter] = [await nextXid(parts), cpuOf(parts), machineTime()];
  const cpuMs =
    cpuBefore === null || cpuAfter === null
      ? null
      : Object.fromEntries(
          Object.entries(cpuAfter).map(([name, ms]) => [name, Math.max(0, ms - (cpuBefore[name] ?? 0))]),
        );
  const foreignShare =
    machineBefore === null || machineAfter === null || cpuMs === null
      ? null
      : Math.max(0, machineAfter.busyMs - machineBefore.busyMs - sum(Object.values(cpuMs))) /
        (machineAfter.allMs - machineBefore.allMs);
  const statements = able ? await readStatements(parts) : null;
  return { value, statements, commits: xidAfter - xidBefore, cpuMs, foreignShare };
}

async function resetStatements({ watcher }: Parts): Promise<boolean> {
  return watcher.query("select pg_stat_statements_reset()").then(
    () => true,
    () => false,
  );
}

async function readStatements({ watcher, tags }: Parts): Promise<StatementCounts> {
  const { rows } = await watcher.query<{ tag: string; calls: number; rows: number; ms: number }>(
    `select q.tag, sum(s.calls)::integer as calls, sum(s.rows)::integer as rows, sum(s.total_exec_time) as ms
     from unnest($1::bigint[], $2::text[]) as q(id, tag) join pg_stat_statements s on s.queryid = q.id
     group by q.tag order by q.tag`,
    [[...tags.keys()], [...tags.values()]],
  );
  return Object.fromEntries(
    rows.map((row) => [row.tag, { calls: row.calls, rows: row.rows, meanMs: row.ms / row.calls }]),
  );
}

/** A transaction takes a number when it first writes; a look takes none. */
async function nextXid({ watcher }: Parts): Promise<number> {
  const { rows } = await watcher.query<{ xid: string }>(
    "select pg_snapshot_xmax(pg_current_snapshot())::text as xid",
  );
  return Number(rows[0]?.xid);
}

/** Processor time in milliseconds since the start of each part. */
function cpuOf(parts: Parts): Record<string, number> | null {
  try {
    const sums = Object.fromEntries(
      Object.entries(parts.pids()).map(([name, pids]) => [
        name,
        sum(pids.map((pid) => cpuOfProcess(pid).ms)),
      ]),
    );
    return { ...sums, postgres: sum(serverProcesses(parts.postgresPid).map(({ ms }) => ms)) };
  } catch {
    return null;
  }
}

function serverProcesses(postmaster: number): readonly { readonly ms: number }[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [{ pid: Number(name), ...cpuOfProcess(Number(name)) }];
      } catch {
        return [];
      }
    });
  return all.flatMap(({ pid, parent, ms, endedMs }) => {
    if (pid === postmaster) return [{ ms: ms + endedMs }];
    return parent === postmaster ? [{ ms }] : [];
  });
}

/** The clock tick of Linux's /proc, in milliseconds. */
const TICK_MS = 10;

/** Of a process, its parent, and its time with that of its children that have ended. Source: proc_pid_stat(5). */
function cpuOfProcess(pid: number): { parent: number; ms: number; endedMs: number } {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return {
    parent: field(4),
    ms: (field(14) + field(15)) * TICK_MS,
    endedMs: (field(16) + field(17)) * TICK_MS,
  };
}

/** All processors together. Source: proc_stat(5), whose fourth and fifth numbers are idle time. */
function machineTime(): { busyMs: number; allMs: number } | null {
  try {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
    const times = line
      .split(/\s+/)
      .slice(1, 9)
      .map((ticks) => Number(ticks) * TICK_MS);
    const allMs = sum(times);
    return { busyMs: allMs - (times[3] ?? 0) - (times[4] ?? 0), allMs };
  } catch {
    return null;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
