import { join } from "node:path";
import { signalIfAlive } from "ghouls/processes/alive";
import { startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { Child, ProcessEnd } from "ghouls/processes/child";
import type { HostLog } from "./log.ts";
import { endLeftover, postmasterOf } from "./postmaster.ts";

const DATABASE = "ghouls";
/** The keeper's word for it. */
const THROW_AWAY = "throw-away";
/** Time for PostgreSQL's own fast shutdown, in milliseconds. */
const STOP_MS = 10_000;

export interface PostgresOptions {
  /** The host's data folder; the database lives in `postgres` below it. */
  readonly dataDir: string;
  /** Of the superuser; the server keeps the one of its first start. */
  readonly password: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  /** Whether what is committed may be lost with the machine, and the data folder goes with the server. */
  readonly throwAway?: boolean;
}

export interface Postgres {
  /** As superuser, on loopback. */
  readonly adminUrl: string;
  /** For another role of the server. */
  urlFor(role: { readonly name: string; readonly password: string }): string;
  /** Process number of the server itself. */
  readonly pid: number;
  /** Of the process that keeps it. */
  readonly keeperPid: number;
  readonly ended: Promise<ProcessEnd>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Ends it at once; the next start recovers. */
  kill(): void;
}

/**
 * Starts PostgreSQL on loopback. A server that a killed host left on the folder is ended first; data stays.
 * @throws GhoulsError where it cannot start, or the folder is of another major version
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const databaseDir = join(options.dataDir, "postgres");
  const child = startChild({
    source: "postgres",
    entry: entryPoint("postgres"),
    args: [databaseDir, DATABASE, ...(options.throwAway === true ? [THROW_AWAY] : [])],
    env: { ...options.env, GHOULS_POSTGRES_PASSWORD: options.password },
    log: options.log,
  });
  const ready = await untilReady(child, "PostgreSQL");
  const port = Number(ready["port"]);
  const pid = Number(ready["pid"]);
  const urlFor = (role: { readonly name: string; readonly password: string }): string =>
    `postgres://${encodeURIComponent(role.name)}:${encodeURIComponent(role.password)}@127.0.0.1:${port}/${DATABASE}`;
  return {
    adminUrl: urlFor({ name: "postgres", password: options.password }),
    urlFor,
    pid,
    keeperPid: child.pid,
    ended: child.ended,
    stop: () => stop(child, databaseDir, pid),
    kill: () => {
      signalIfAlive(pid, "SIGQUIT");
      child.kill("SIGKILL");
    },
  };
}

/** Through its keeper, in order; a server that has lost its keeper, or does not end in time, at once. */
async function stop(child: Child, databaseDir: string, pid: number): Promise<void> {
  child.send({ type: "stop" });
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await child.ended;
  clearTimeout(timer);
  if ((await postmasterOf(databaseDir)) === pid) await endLeftover(databaseDir);
}
