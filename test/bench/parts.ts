import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openSqs } from "@ghouls/aws";
import { noFaults } from "@ghouls/core";
import { createRoles, migrate, openLedger } from "@ghouls/ledger";
import { loadConfig } from "ghouls";
import { connect } from "../../packages/aws/src/connection.ts";
import { startApi } from "../../packages/local/src/api.ts";
import { functionEnvironment } from "../../packages/local/src/child-environment.ts";
import { endChild, isMessage, startChild, untilReady } from "ghouls/processes/child";
import { startFunctions } from "../../packages/local/src/functions.ts";
import { ensureKeys } from "../../packages/local/src/keys.ts";
import { openLog, type HostLog } from "../../packages/local/src/log.ts";
import type { Owner } from "../../packages/local/src/owner.ts";
import { startPostgres, type Postgres } from "../../packages/local/src/postgres.ts";
import { openEvents } from "../../packages/local/src/events.ts";
import { openQueues } from "../../packages/local/src/queues.ts";
import { random } from "../../packages/local/src/secrets.ts";
import { openSources } from "../../packages/local/src/sources.ts";
import type { Loaded, Order } from "./load.ts";
import type { Options } from "./options.ts";
import { readTags } from "./tags.ts";

/** The embedded parts as `ghouls dev` drives them, each in a process of its own, and the load beside them. */
export interface Parts {
  /** As superuser, in a database of its own, so that what it asks is not counted. */
  readonly watcher: pg.Pool;
  /** As superuser, in the ledger's database. */
  readonly admin: pg.Pool;
  /** The tags of our statements by the server's identifier; empty where it has no pg_stat_statements. */
  readonly tags: ReadonlyMap<string, string>;
  /** The ledger, as the application connects to it. */
  readonly databaseUrl: string;
  readonly postgresPid: number;
  /** Connections that API and workers hold together. */
  readonly connections: number;
  /** Process numbers by the name of the part, without PostgreSQL's. This process holds the event source mapping. */
  pids(): Readonly<Record<string, readonly number[]>>;
  workers(): number;
  order(order: Order): Promise<Loaded>;
  /** Takes all messages out of a queue. */
  purge(queue: string): Promise<void>;
}

const CONFIG = fileURLToPath(new URL("ghouls.config.ts", import.meta.url));
const MIGRATOR = { name: "ghouls_migrator", password: random() };
const APPLICATION = { name: "ghouls_app", password: random() };

/** As `ghouls dev` has it by default; on Lambda it is a minute. */
const RECONCILE_EVERY_MS = 5_000;

/** What is started is the owner's, which ends it. `onLine` is told each line of the parts' log. */
export async function startParts(
  options: Options,
  owner: Owner,
  onLine: (line: string) => void,
): Promise<Parts> {
  const dataDir = await mkdtemp(join(tmpdir(), "ghouls-bench-"));
  owner.defer(() => rm(dataDir, { recursive: true, force: true }));
  // As root, PostgreSQL runs as another user, who must be able to pass through.
  await chmod(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  const log = openLog(join(dataDir, "bench.log"), onLine);
  owner.defer(() => log.close());
  const env = cleanEnvironment(options);
  Object.assign(process.env, env);

  const postgres = await openPostgres(dataDir, env, log, owner);
  const loaded = await loadConfig(CONFIG);
  const queues = await owner.own(openQueues({ env, dataDir, log, queues: Promise.resolve(loaded.queues) }));
  const events = await owner.own(openEvents({ env, log }));
  const databaseUrl = postgres.urlFor(APPLICATION);
  // What is only for those who write workflows is not measured.
  const functionEnv = {
    ...functionEnvironment(
      env,
      databaseUrl,
      loaded.databaseSchema,
      queues,
      events,
      join(dataDir, "releases"),
    ),
    GHOULS_REPLAY_CHECK: "0",
  };
  const { submitter } = await keysIn(dataDir, postgres);
  const handlers = import.meta.resolve("ghouls");
  const api = await owner.own(
    startApi({
      handlers,
      configPath: CONFIG,
      env: functionEnv,
      log,
    }),
  );
  const apiUrl = `http://127.0.0.1:${api.port}`;
  const queuePort = openSqs({
    ...queues.connection,
    queueUrls: queues.urls,
    faults: noFaults,
    random: Math.random,
  });
  owner.defer(() => queuePort.close());
  const { runs } = loaded.queues;
  if (runs === undefined) throw new Error('the configuration has no queue "runs"');
  const functions = await startFunctions({
    config: { ...loaded, queues: { runs } },
    handlers,
    env: functionEnv,
    log,
    onChange: () => Promise.resolve(),
    onWorkerEnd: () => undefined,
  });
  owner.defer(() => functions.close(0));
  const load = await startLoad(
    { ...env, DATABASE_URL: databaseUrl, BENCH_API_URL: apiUrl },
    submitter,
    log,
    owner,
  );
  const pool = (database: string) => openPool(postgres.adminUrl.replace(/[^/]*$/, database), owner);
  const [watcher, admin] = [pool("postgres"), pool("ghouls")];
  await watcher.query("create extension if not exists pg_stat_statements").catch(() => undefined);
  const sources = openSources({
    queues: ["runs"],
    settingsOf: () => runs,
    functions: () => functions,
    queuePort,
    queueUrls: queues.urls,
    region: queues.connection.region,
    reconcileEveryMs: RECONCILE_EVERY_MS,
    log,
  });
  owner.defer(async () => {
    functions.drain();
    await sources.stop(2_000);
  });
  const ofRole = (role: string) =>
    functions.processes().flatMap((each) => (each.role === role ? [each.pid] : []));
  return {
    watcher,
    admin,
    tags: await readTags(admin),
    databaseUrl,
    postgresPid: postgres.pid,
    connections: loaded.config.database.poolSize * (1 + options.workers),
    pids: () => ({
      load: [load.pid],
      api: [api.pid],
      sqs: queues.processes.map((each) => each.pid),
      mapping: [process.pid],
      workers: ofRole("worker"),
      reconciler: ofRole("reconciler"),
    }),
    workers: () => ofRole("worker").length,
    order: (order) => load.order(order),
    purge: async (queue) => {
      const sqs = await connect(queues.connection);
      await sqs.purgeQueue({ QueueUrl: queues.urls[queue] });
      sqs.destroy();
    },
  };
}

/** Nothing of the caller's own database and queues. */
function cleanEnvironment(options: Options): NodeJS.ProcessEnv {
  const foreign = /^(GHOULS_|DATABASE_|AWS_|PG[A-Z]+$)/;
  for (const name of Object.keys(process.env))
    if (foreign.test(name)) Reflect.deleteProperty(process.env, name);
  return {
    ...process.env,
    BENCH_WORKERS: String(options.workers),
    BENCH_BATCH: String(options.batch),
    BENCH_ENTRIES: String(options.entries),
  };
}

/** The server as `ghouls dev` has it; started twice, because a library is preloaded at a start only. */
async function openPostgres(
  dataDir: string,
  env: NodeJS.ProcessEnv,
  log: HostLog,
  owner: Owner,
): Promise<Postgres> {
  const start = () => startPostgres({ dataDir, password, env, log });
  const password = random();
  const place = owner.place();
  const first = await start();
  let server: Postgres | undefined = first;
  place.defer(async () => server?.stop());
  const admin = new pg.Client({ connectionString: first.adminUrl });
  await admin.connect();
  const found = await admin.query("select 1 from pg_available_extensions where name = 'pg_stat_statements'");
  if (found.rowCount === 1)
    await admin.query("alter system set shared_preload_libraries = 'pg_stat_statements'");
  await admin.end();
  await first.stop();
  server = undefined;
  server = await start();
  await createRoles(server.adminUrl, { schema: "ghouls", migrator: MIGRATOR, application: APPLICATION });
  await migrate({ connectionString: server.urlFor(MIGRATOR), applicationRole: APPLICATION.name });
  return server;
}

async function keysIn(dataDir: string, postgres: Postgres): ReturnType<typeof ensureKeys> {
  const ledger = openLedger({ connectionString: postgres.urlFor(MIGRATOR), maxConnections: 1 });
  try {
    return await ensureKeys(dataDir, ledger);
  } finally {
    await ledger.close();
  }
}

function openPool(connectionString: string, owner: Owner): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2, application_name: "bench" });
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", () => undefined);
  owner.defer(() => pool.end());
  return pool;
}

async function startLoad(
  env: NodeJS.ProcessEnv,
  token: string,
  log: HostLog,
  owner: Owner,
): Promise<{ readonly pid: number; order(order: Order): Promise<Loaded> }> {
  const child = startChild({
    source: "load",
    entry: new URL("load.ts", import.meta.url),
    env: { ...env, BENCH_TOKEN: token },
    log,
  });
  owner.defer(async () => void (await endChild(child, "SIGTERM", 2_000)));
  await untilReady(child, "the load");
  const order = (what: Order): Promise<Loaded> =>
    new Promise((resolve, reject) => {
      const listen = (message: unknown): void => {
        if (!isMessage(message) || message.type !== "done") return;
        child.process.off("message", listen);
        const error = message["error"];
        if (typeof error === "string") reject(new Error(error));
        else resolve(message["value"] as Loaded);
      };
      child.process.on("message", listen);
      void child.ended.then(() => reject(new Error("the load's process has ended")));
      child.send(what);
    });
  return { pid: child.pid, order };
}
