import { randomUUID } from "node:crypto";
import {
  GhoulsError,
  durationMs,
  noEventStore,
  noFaults,
  noHint,
  noLiveStream,
  noMetrics,
  type Caller,
  type Clock,
  type Codec,
  type EventStore,
  type FaultInjector,
  type Ids,
  type LogFields,
  type LiveStream,
  type Logger,
  type Metrics,
  type Publication,
  type QueuePort,
  type WakeHint,
} from "@ghouls/core";
import { databaseAccess, openMetrics, openSqs } from "@ghouls/aws";
import {
  DEFAULT_EXECUTION_SETTINGS,
  LiveChannel,
  Publisher,
  Registry,
  createAnnouncement,
  createClosing,
  createLowering,
  createOpening,
  type CloseChannel,
  type DeadLetterQueues,
  type Delegation,
  type ExecutionSettings,
} from "@ghouls/engine";
import { openLedger, type Ledger, type RetentionAges } from "@ghouls/ledger";
import { authenticatorOf } from "./authenticate.ts";
import type { Config } from "./config.ts";
import { openDelegation } from "./delegation.ts";
import { digestOf, type DigestManifest } from "./digest/digest.ts";
import { readEnvironment, type Environment } from "./environment.ts";
import { jsonLogger, writeToStdout } from "./logger.ts";
import { eventsOf, hintOf } from "./events-table.ts";

/** What a process of Ghouls is made of. One per process: functions stay warm over many invocations. */
export interface Runtime {
  readonly config: Config;
  readonly environment: Environment;
  readonly ledger: Ledger;
  readonly queue: QueuePort;
  /** Undefined where no dead-letter queue is known here. */
  readonly deadLetters: DeadLetterQueues | undefined;
  readonly hint: WakeHint;
  /** What runs have said live; nothing where no table is known here. */
  readonly events: EventStore;
  /** Opens the live channel of deliveries that are about to be published. */
  readonly open: ((publications: readonly Publication[]) => Promise<void>) | undefined;
  /** Closes it for a run that has ended without a worker. */
  readonly closeChannel: CloseChannel | undefined;
  /** Where the hops of this process say it. */
  readonly live: LiveStream;
  readonly clock: Clock;
  readonly publisher: Publisher;
  readonly settings: ExecutionSettings;
  /** How long what is kept for people stays. */
  readonly retention: RetentionAges;
  readonly registry: Registry;
  /** Says in the ledger which workflows this build has; whoever carries or admits runs awaits it before. */
  readonly announce: () => Promise<void>;
  readonly codec: Codec;
  readonly delegation: Delegation;
  readonly ids: Ids;
  readonly faults: FaultInjector;
  /** Written out at the end of each invocation by whoever records. */
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly logWith: (fields: LogFields) => Logger;
  readonly authenticate: (token: string) => Promise<Caller | undefined>;
  readonly worker: string;
  close(): Promise<void>;
}

/** What tests, hosts and bundles put in another's place. */
export interface RuntimeOverrides {
  /** The digests that the build of this bundle made. */
  readonly manifest?: DigestManifest;
  readonly variables?: Readonly<Record<string, string | undefined>>;
  readonly faults?: FaultInjector;
  readonly write?: (line: string) => void;
  readonly clock?: Clock;
  /** Fires when this process is about to end, where no signal of the system says so: streams end then. */
  readonly draining?: AbortSignal;
  /** Milliseconds to go on trying to connect to the ledger; 10,000 where absent. */
  readonly connectPatienceMs?: number;
  /** Milliseconds that a call to the hint may take; about one second where absent, since it only saves a look. */
  readonly hintPatienceMs?: number;
}

export const processClock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/** Opens what a handler needs. Connections are made by the first call that needs one. */
export async function openRuntime(config: Config, overrides: RuntimeOverrides = {}): Promise<Runtime> {
  const environment = readEnvironment(overrides.variables ?? process.env, Object.keys(config.queues));
  const faults = overrides.faults ?? noFaults;
  const write = overrides.write ?? writeToStdout;
  const logWith = (fields: LogFields) => jsonLogger(write, () => new Date().toISOString(), fields);
  const log = logWith({});
  const registered = await Promise.all(
    config.workflows.map(async (definition) => ({
      definition,
      digest: await digestOf(definition, overrides.manifest),
    })),
  );
  const clock = overrides.clock ?? processClock;
  const { hintPatienceMs } = overrides;
  const hint = hintOf(config, environment, { faults, hintPatienceMs });
  const { driver, neonProxy } = environment.database;
  const { preparedStatements } = config.database;
  const ledger = openLedger({
    ...databaseAccess(environment.database, { clock, faults }),
    driver,
    ...(neonProxy === undefined ? {} : { neonProxy }),
    schema: environment.schema ?? config.database.schema,
    maxConnections: config.database.poolSize,
    ...(preparedStatements === undefined ? {} : { preparedStatements }),
    ...(overrides.connectPatienceMs === undefined ? {} : { connectPatienceMs: overrides.connectPatienceMs }),
    faults,
    chance: Math.random,
    answerTimeoutMs: 10_000,
    ...(hint === undefined
      ? {}
      : { beforeOpening: createLowering({ hint, clock, log, patienceMs: hintPatienceMs }) }),
  });
  const { region, endpoint } = environment;
  const aws = { region, ...(endpoint === undefined ? {} : { endpoint }) };
  const sqs = { ...aws, faults, random: Math.random };
  const queue = openSqs({ ...sqs, queueUrls: environment.queueUrls });
  const names = Object.keys(environment.deadLetterUrls);
  const deadLetters =
    names.length === 0
      ? undefined
      : { queue: openSqs({ ...sqs, queueUrls: environment.deadLetterUrls }), names };
  const events = eventsOf(config, environment, { faults, clock });
  const store = events ?? noEventStore;
  const open = events === undefined ? undefined : createOpening({ store, clock, log });
  const registry = new Registry(registered);
  const { delegation, close: closeDelegation } = openDelegation(config, environment, { clock, faults });
  return {
    config,
    environment,
    ledger,
    queue,
    deadLetters,
    hint: hint ?? noHint,
    clock,
    events: store,
    live: events === undefined ? noLiveStream : new LiveChannel({ store, clock, log }),
    open,
    closeChannel: events === undefined ? undefined : createClosing({ store, log }),
    publisher: new Publisher({ ledger, queue, faults, log, open }),
    settings: settingsOf(config, environment),
    retention: retentionOf(config),
    registry,
    announce: createAnnouncement({
      ledger,
      registry,
      capacities: config.capacities,
      build: environment.build,
    }),
    codec: config.codec,
    delegation,
    ids: { next: () => randomUUID() },
    faults,
    metrics: environment.deployment === undefined ? noMetrics : openMetrics(environment.deployment),
    log,
    logWith,
    authenticate: authenticatorOf(config, { ledger, log }),
    worker: environment.workerId ?? `worker-${randomUUID()}`,
    close: async () => {
      closeDelegation();
      queue.close();
      deadLetters?.queue.close();
      hint?.close();
      events?.close();
      await ledger.close();
    },
  };
}

function retentionOf({ retention: { bodies, steps, repairs } }: Config): RetentionAges {
  return {
    bodiesMs: bodies === undefined ? null : durationMs(bodies),
    stepsMs: durationMs(steps),
    repairsMs: durationMs(repairs),
  };
}

function settingsOf({ timing }: Config, { replayCheck, inspected }: Environment): ExecutionSettings {
  return {
    ...DEFAULT_EXECUTION_SETTINGS,
    leaseMs: durationMs(timing.lease),
    beatMs: durationMs(timing.beat),
    actsMarginSeconds: durationMs(timing.actsMargin) / 1_000,
    maxLosses: timing.maxLosses,
    deployOverlapMs: durationMs(timing.deployOverlap),
    replayCheck,
    leaseHeld: inspected,
  };
}

/** Opens a runtime once and keeps it; an opening that failed is tried again by the next invocation. */
export function once<Opened extends Runtime>(open: () => Promise<Opened>): () => Promise<Opened> {
  let opened: Promise<Opened> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

/** The queue that an event's ARN names. @throws GhoulsError configuration_invalid */
export function queueOfArn(arn: string, environment: Environment): string {
  const name = arn.split(":").at(-1) ?? "";
  const found = Object.entries(environment.queueUrls).find(([, url]) => url.split("/").at(-1) === name);
  if (found === undefined) {
    throw new GhoulsError(
      "configuration_invalid",
      `no queue of the configuration has the name ${name.slice(0, 100)}`,
      {
        fix: "Set GHOULS_QUEUE_<NAME>_URL of this function to the queue that invokes it.",
      },
    );
  }
  return found[0];
}
