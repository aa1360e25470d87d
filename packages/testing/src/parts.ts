import { randomBytes, randomUUID } from "node:crypto";
import {
  durationMs,
  noFaults,
  noMetrics,
  type AnyWorkflow,
  type AuthorityCheck,
  type GrantProvider,
  type LogFields,
  type Logger,
} from "@ghouls/core";
import {
  DEFAULT_EXECUTION_SETTINGS,
  Publisher,
  Registry,
  createAdmission,
  createAnnouncement,
  createAttempts,
  createConsents,
  createControl,
  createDirectEgress,
  createReads,
  createSignals,
  LiveRing,
  noReleases,
  reconcile,
  type Admission,
  type AttemptService,
  type ConsentService,
  type ControlService,
  type ExecutionSettings,
  type ReadService,
  type SignalService,
} from "@ghouls/engine";
import { openLedger, type Ledger } from "@ghouls/ledger";
import { SLOWER } from "@ghouls/ledger/scratch";
import type { Config } from "ghouls";
import type { Database } from "./database.ts";
import { ScriptedJobs, type Ask } from "./jobs.ts";
import { authorityOfTests, grantsOfTests } from "./owners.ts";
import { TestQueue } from "./queue.ts";
import { Workers } from "./workers.ts";

export interface PartsOptions {
  readonly config: Config;
  readonly ask: Ask;
  readonly database: Database;
  readonly log: Logger;
  readonly authority: AuthorityCheck | undefined;
  readonly grants: GrantProvider | undefined;
}

/** What a process of Ghouls is made of, with the test's queue and clock. */
export interface Parts {
  readonly ledger: Ledger;
  readonly queue: TestQueue;
  readonly admission: Admission;
  readonly reads: ReadService;
  readonly consents: ConsentService;
  readonly signals: SignalService;
  readonly attempts: AttemptService;
  readonly control: ControlService;
  readonly jobs: ScriptedJobs;
  readonly workers: Workers;
  /** What runs have said by `ctx.stream`. */
  readonly live: LiveRing;
  /** Runs the passes, where one of them has something to do now. */
  readonly reconcileIfDue: () => Promise<void>;
}

/** Of what runs say live a test can read the latest megabyte of each. */
const LIVE_BOUNDS = { bytesPerRun: 1_048_576, bytes: 67_108_864, endedRuns: 10_000 };

/** Connections of a test to its ledger. */
const POOL_SIZE = 4;

/** Opens the engine over a scratch ledger. No function, HTTP or AWS lies between it and the test. */
export function openParts(options: PartsOptions): Parts {
  const { config, ask, log } = options;
  const { scratch, applicationUrl } = options.database;
  const { codec, decisionSources, services, egress, capacities } = config;
  const ledger = openLedger({
    connectionString: applicationUrl,
    schema: scratch.schema,
    maxConnections: POOL_SIZE,
    applicationName: "ghouls-testing",
    // Nothing is spread over time: a test is to be the same every time.
    chance: () => 0,
  });
  const queue = new TestQueue(() => scratch.now());
  const others = ask === "real" ? createDirectEgress({ services, origins: egress.origins }) : undefined;
  const jobs = new ScriptedJobs(others, () => scratch.now());
  const registry = new Registry(
    config.workflows.map((definition) => ({ definition, digest: digestOf(definition) })),
  );
  const settings = settingsOf(config);
  const publisher = new Publisher({ ledger, queue, faults: noFaults, log });
  const shared = { ledger, queue, registry, codec, ids: { next: () => randomUUID() }, faults: noFaults, log };
  const live = new LiveRing(LIVE_BOUNDS);
  const deps = {
    ...shared,
    // Nothing is deployed here.
    releases: noReleases,
    queues: Object.keys(config.queues),
    live,
    capacities,
    decisionSources,
    authority: options.authority ?? config.authority ?? authorityOfTests,
    grants: options.grants ?? config.grants ?? grantsOfTests,
    delegation: {
      services,
      egress: jobs,
      publicUrl: "https://ghouls.test",
      newToken: () => randomBytes(32).toString("base64url"),
    },
    metrics: noMetrics,
    logFor: ({ runId, seq }: { runId: string; seq: number }) => withFields(log, { runId, enqueueSeq: seq }),
    chance: () => 0,
    draining: new AbortController().signal,
    settings,
  };
  return {
    ledger,
    queue,
    jobs,
    live,
    admission: createAdmission({
      ...shared,
      announce: createAnnouncement({ ledger, registry, capacities, build: "test" }),
      route: config.route,
      queues: Object.keys(config.queues),
    }),
    reads: createReads({ ...shared, registry }),
    consents: createConsents({ ...shared, publisher }),
    signals: createSignals({ ...shared, publisher }),
    attempts: createAttempts({ ...shared, publisher }),
    control: createControl({ ledger, publisher, settings }),
    workers: new Workers({ config, deps, queue }),
    reconcileIfDue: async () => {
      const dueInSeconds = await ledger.nextLook();
      if (dueInSeconds === null || dueInSeconds > 0) return;
      await reconcile({
        ...deps,
        publisher,
        clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
        worker: "reconciler",
        pageSize: 100,
        pageBudgetMs: 2_000,
        remainingMs: () => 60_000,
      });
    },
  };
}

/** The code of a test does not change while it runs, so a name pins it. */
function digestOf({ name, version }: AnyWorkflow): string {
  return `test:${name}@${version}`;
}

/** The configuration's own times: the clock moves through them. */
function settingsOf({ timing }: Config): ExecutionSettings {
  return {
    ...DEFAULT_EXECUTION_SETTINGS,
    // A step's next try is parked for, however near it is: nothing is waited for in real time.
    residentDelayMs: 0,
    // Nor is that what holds units, while a run waits for them: they are asked for again as time moves on.
    residentReserveMs: 0,
    reservePollMs: 60_000,
    // By the worker's own clock: as long as elsewhere.
    parkRestMs: DEFAULT_EXECUTION_SETTINGS.parkRestMs / SLOWER,
    replayPatienceMs: DEFAULT_EXECUTION_SETTINGS.replayPatienceMs / SLOWER,
    leaseMs: durationMs(timing.lease),
    beatMs: durationMs(timing.beat),
    actsMarginSeconds: durationMs(timing.actsMargin) / 1_000,
    maxLosses: timing.maxLosses,
    deployOverlapMs: durationMs(timing.deployOverlap),
  };
}

function withFields(log: Logger, fixed: LogFields): Logger {
  const at =
    (level: keyof Logger): Logger["info"] =>
    (message, fields) =>
      log[level](message, { ...fields, ...fixed });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
