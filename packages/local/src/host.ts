import { chmod, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { openSqs } from "@ghouls/aws";
import { noFaults } from "@ghouls/core";
import { describeEnd } from "ghouls/processes/child";
import type { ProcessEnd } from "ghouls/processes/child";
import { DEV_TENANT, functionEnvironment } from "./child-environment.ts";
import type { Database } from "./database.ts";
import { createBoard } from "./board.ts";
import type { Board } from "./board.ts";
import { createOwner } from "./owner.ts";
import type { Owner } from "./owner.ts";
import { openCodeStore, readCode } from "./code.ts";
import type { Code, CodeStore, KeptCode } from "./code.ts";
import { strandedLines } from "./stranded.ts";
import { firstState, startReloading } from "./reload.ts";
import { endLeftServices } from "./services.ts";
import { startServing } from "./serving.ts";
import { codeOf, startStores } from "./stores.ts";
import type { Serving } from "./serving.ts";
import { watchFiles } from "./watch.ts";
import { refuseUnsound } from "./judgement.ts";
import { ensureKeys } from "./keys.ts";
import { holdLeases } from "./hold.ts";
import type { HeldWorker } from "./hold.ts";
import { lockDataDir } from "./lock.ts";
import type { HostLog, Print } from "./log.ts";
import { openLog, rotate } from "./log.ts";
import type { HostLedger, LoadedConfig, Parts } from "./parts.ts";
import type { Queues } from "./queues.ts";
import { refuseUnready } from "./ready.ts";
import { releasedLines } from "./released.ts";
import { startReleasing, type Releasing, type ReleasingOptions } from "./releases.ts";
import { forgetLeftBehind, openStateFile, takeLeftBehind, keepLeftBehind } from "./state.ts";
import type { DevState } from "./state.ts";
import { describeNotice, noticeIn, withNotice } from "./notices.ts";
import type { Notice } from "./notices.ts";
import { createEndRecorder } from "ghouls/processes/worker-ends";
import type { EndRecorder } from "ghouls/processes/worker-ends";
import { endLeftBehind } from "./left-behind.ts";

/** How long work under way may go on after the host was asked to end, in milliseconds. */
const DRAIN_MS = 10_000;
/** A log that has grown beyond it is moved aside at the next start. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;

export interface HostOptions {
  readonly configPath: string;
  readonly dataDir: string;
  /** The API's port; 0 for any. 4700 where undefined, or a free one where that is taken. */
  readonly port: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** For people. */
  readonly print: Print;
  /** Each line of the log, as it is written. */
  readonly printLog: Print;
  readonly parts: Parts;
  /** Whether what is saved is run. */
  readonly watch: boolean;
  /** Whether it ends when its examples have ended. */
  readonly once?: boolean;
  /** Port of the inspector of the one worker that then serves all queues; 0 for any. */
  readonly inspect?: number;
  /** From one reconciliation to the next, in milliseconds. Lambda's schedule has 60 s; here 5 s by default. */
  readonly reconcileEveryMs?: number;
}

export interface Host {
  readonly config: LoadedConfig;
  readonly state: Pick<DevState, "apiUrl" | "tokens"> & { readonly consoleUrl: string | undefined };
  readonly logFile: string;
  /** Resolves, with the reason, when a process that the host cannot do without has ended unasked. */
  readonly broken: Promise<string>;
  /** Ends everything in order; nothing is left but the data. */
  stop(): Promise<void>;
  /** Ends every process at once. `stop` still has to be waited for. */
  kill(): void;
}

/**
 * Starts Ghouls on this machine in the order in which its parts need each other.
 * @throws GhoulsError where a part cannot start; then nothing is left running
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const dataDir = resolve(options.dataDir);
  await makeDataDir(dataDir);
  const lock = await lockDataDir(dataDir);
  const owner = createOwner();
  owner.defer(() => lock.release());
  try {
    return await startParts({ ...options, dataDir }, owner);
  } catch (error) {
    await owner.end();
    throw error;
  }
}

/** PostgreSQL runs as another user where we are root, who must be able to pass through. */
async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
}

async function startParts(options: HostOptions, owner: Owner): Promise<Host> {
  const logFile = join(options.dataDir, "host.log");
  await rotate(logFile, MAX_LOG_BYTES);
  let board: Board | undefined;
  let notices: readonly Notice[] = [];
  const log = openLog(logFile, (line) => {
    const notice = noticeIn(line);
    if (notice === undefined) return options.printLog(line);
    for (const text of describeNotice(notice)) options.print(text);
    notices = withNotice(notices, notice);
    void board?.update({ notices });
  });
  owner.defer(() => log.close());
  const leftBehind = await takeLeftBehind(options.dataDir);
  const codes = openCodeStore(options.dataDir);
  await codes.clear();
  owner.defer(() => codes.clear());
  await endLeftServices(leftBehind);
  const onChange = (): void => void board?.update({});
  const stores = await startStores(options, log, owner, onChange);
  const { config, code, database, queues, events, services, buckets } = stores;
  const ledger = await openHostLedger(options, database.url, config);
  const ends = createEndRecorder({
    ledger,
    actsMarginSeconds: config.actsMarginSeconds,
    log: (text) => log.line("host", text),
  });
  owner.defer(async () => keepLeftBehind(options.dataDir, await ends.close(2_000)));
  await endLeftBehind(leftBehind, ["/process/function."], ends);
  await forgetLeftBehind(options.dataDir);

  await refuseUnsound(ledger, {
    dataDir: options.dataDir,
    schema: config.databaseSchema,
    print: options.print,
  });
  const tokens = await makeKeys(options, database, config);
  await ledger.capacities.say(code.settings.capacities);
  const releases = join(options.dataDir, "releases");
  const env = functionEnvironment(stores.env, database.url, config.databaseSchema, queues, events, releases);
  const stateFile = openStateFile(options.dataDir);
  const shown = createBoard({
    file: stateFile,
    database,
    schema: config.databaseSchema,
    queues,
    events,
    services,
    buckets,
    tokens,
    log,
  });
  owner.defer(() => stateFile.remove());

  const serving = await startServingParts(
    { options, config, code, codes, env, log, queues, ledger, ends, board: shown },
    owner,
  );
  await refuseUnready(serving.url);
  board = shown;
  await serving.open();
  const say = (text: string): void => log.line("host", text);
  const aboutStranded = async (one: Code) => [
    ...(await strandedLines(ledger, one, options.dataDir)),
    ...(await releasedLines(ledger, one, options.dataDir)),
  ];
  // What they are does not concern the start.
  for (const line of await aboutStranded(code)) say(line);
  if (!options.watch) await shown.update({ code: firstState(code) });
  else {
    const reloading = startReloading({
      first: code,
      read: (signal) => readCode({ ...codeOf(options, stores.env, log), signal }),
      replace: (next) => serving.replace(next),
      sayCapacities: (capacities) => ledger.capacities.say(capacities),
      watch: watchFiles,
      openOfPins: (pins) => ledger.runs.openOfPins(DEV_TENANT, pins),
      aboutStranded,
      say,
      show: (state) => shown.update({ code: state }),
    });
    owner.defer(() => reloading.stop());
  }
  return {
    config,
    state: { apiUrl: serving.url, consoleUrl: serving.consoleUrl, tokens },
    logFile,
    broken: Promise.race([
      serving.broken,
      firstEnd([
        ["PostgreSQL", database.ended],
        ["the SQS server", queues.ended],
        ["the DynamoDB server", events.ended],
      ]),
    ]),
    stop: () => owner.end(),
    kill: () => owner.kill(),
  };
}

interface ServingParts {
  readonly options: HostOptions;
  readonly config: LoadedConfig;
  readonly code: Code;
  readonly codes: CodeStore;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  readonly queues: Queues;
  readonly ledger: HostLedger;
  readonly ends: EndRecorder;
  readonly board: Board;
}

/** The API and the functions. They end before their queue client does. */
function startServingParts(
  { options, config, code, codes, env, log, queues, ledger, ends, board }: ServingParts,
  owner: Owner,
): Promise<Serving> {
  const { region } = queues.connection;
  const queuePort = openSqs({
    ...queues.connection,
    queueUrls: queues.urls,
    faults: noFaults,
    random: Math.random,
  });
  owner.defer(() => queuePort.close());
  const { leaseMs, beatMs } = config;
  const holding = { ledger, leaseMs, beatMs, log: (text: string) => log.line("host", text) };
  const hold = (worker: HeldWorker) => holdLeases(worker, holding);
  const starting = startServing(
    {
      handlers: options.parts.handlers,
      configPath: config.path,
      codes,
      port: options.port,
      env,
      log,
      board,
      queuePort,
      queueUrls: queues.urls,
      region,
      reconcileEveryMs: options.reconcileEveryMs ?? 5_000,
      drainMs: DRAIN_MS,
      releasing: releasingOf(options, { configPath: config.path, env, log, ledger }),
      onWorkerEnd: (worker, how) => void ends.record(worker, how),
      ...(options.inspect === undefined ? {} : { inspect: { port: options.inspect, hold } }),
    },
    code,
  );
  return owner.own(starting);
}

/** Nothing outlives examples that are carried to their end. */
function releasingOf(
  { parts: { functions }, once }: HostOptions,
  rest: Omit<ReleasingOptions, "functions">,
): ((code: KeptCode) => Releasing) | undefined {
  if (functions === undefined || once === true) return undefined;
  return (code) => startReleasing(code, { functions, ...rest });
}

async function openHostLedger(
  options: HostOptions,
  connectionString: string,
  config: LoadedConfig,
): Promise<HostLedger> {
  return options.parts.ledger.openLedger({
    connectionString,
    schema: config.databaseSchema,
    maxConnections: 1,
    applicationName: "ghouls-host",
    chance: Math.random,
  });
}

/** As the role that owns the schema: the application's only reads keys. */
async function makeKeys(
  options: HostOptions,
  database: Database,
  config: LoadedConfig,
): Promise<DevState["tokens"]> {
  const ledger = await options.parts.ledger.openLedger({
    connectionString: database.migrationUrl ?? database.url,
    schema: config.databaseSchema,
    maxConnections: 1,
    applicationName: "ghouls-host",
    chance: Math.random,
  });
  try {
    return await ensureKeys(options.dataDir, ledger);
  } finally {
    await ledger.close();
  }
}

/** Resolves with the first unexpected end of a part. */
function firstEnd(parts: readonly (readonly [string, Promise<ProcessEnd> | undefined])[]): Promise<string> {
  const ends = parts.flatMap(([name, ended]) =>
    ended === undefined ? [] : [ended.then((end) => `${name} ended: ${describeEnd(end)}`)],
  );
  return Promise.race(ends);
}
