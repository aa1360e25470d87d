import { fileURLToPath } from "node:url";
import { planDeployment } from "@ghouls/functions";
import { loadConfig } from "ghouls";
import { grid } from "./table.ts";

/**
 * `npm run cost`: what a million runs and an idle month cost on AWS, from the settings of a deployment and list prices. The
 * database is the team's own and stands in no row.
 */

/** List prices of us-east-1 in dollars, without free tiers, as public sources had them on this day. */
export const PRICES_OF = "2026-11-29";
const PRICES = {
  lambdaRequest: 0.2e-6,
  /** Of arm64, the first tier. */
  lambdaGbSecond: 0.0000133334,
  sqsRequest: 0.4e-6,
  httpRequest: 1e-6,
  dynamoWrite: 0.625e-6,
  dynamoRead: 0.125e-6,
  logsGb: 0.5,
  scheduledInvocation: 1e-6,
  alarmMonth: 0.1,
  dashboardMonth: 3,
  secretMonth: 0.4,
  /** Of AWS Step Functions, Standard workflows. */
  stateTransition: 25e-6,
  /** Of AWS Lambda durable functions: starts, steps and waits; and what they keep. */
  durableOperation: 8e-6,
  durableWrittenGb: 0.25,
} as const;

/** What the figures rest on beside the settings. */
export const ASSUMED = {
  /** Seconds that the admission function takes for a run, and a worker beside its steps. */
  admissionSeconds: 0.03,
  overheadSeconds: 0.05,
  /** Seconds of one step, in which the worker waits for something else. */
  stepSeconds: 0.1,
  /** Runs that share an invocation: one, which is the dearest. */
  runsPerInvocation: 1,
  /** Bytes of log for a run and for a reconciler that found nothing to do. */
  logBytesPerRun: 600,
  logBytesPerLook: 400,
  /** Bytes of state that a durable function writes for a step. */
  durableBytesPerStep: 1_000,
  lookSeconds: 0.05,
  /** Seconds of a hop whose events are written together. */
  secondsPerRecord: 0.25,
  /** Long polls of an event source mapping that finds nothing: five pollers, each asking every 20 seconds. */
  emptyPollsPerMinute: 15,
} as const;

const MINUTES_OF_A_MONTH = 43_800;
const MILLION = 1_000_000;

export interface Settings {
  readonly queues: number;
  readonly alarms: number;
  readonly httpGb: number;
  readonly workerGb: number;
  readonly reconcilerGb: number;
}

/** Dollars by part for a million runs of so many steps. */
export function millionRuns(steps: number, settings: Settings): Readonly<Record<string, number>> {
  const { admissionSeconds, overheadSeconds, stepSeconds, runsPerInvocation, logBytesPerRun } = ASSUMED;
  const workerSeconds = overheadSeconds + steps * stepSeconds;
  // Sent; received, its visibility shortened, and deleted, each with the others of its batch.
  const sqsRequests = 1 + 3 / runsPerInvocation;
  return {
    "HTTP API": MILLION * PRICES.httpRequest,
    admission: MILLION * (PRICES.lambdaRequest + admissionSeconds * settings.httpGb * PRICES.lambdaGbSecond),
    SQS: MILLION * sqsRequests * PRICES.sqsRequest,
    // What is about to be published, and what a hop says every quarter of a second. Who looks on is not among them.
    events: MILLION * (1 + Math.ceil(workerSeconds / ASSUMED.secondsPerRecord)) * PRICES.dynamoWrite,
    workers:
      (MILLION / runsPerInvocation) *
      (PRICES.lambdaRequest + workerSeconds * settings.workerGb * PRICES.lambdaGbSecond),
    logs: ((MILLION * logBytesPerRun) / 1e9) * PRICES.logsGb,
  };
}

/** Dollars by part for a month in which nothing happens. */
export function idleMonth({ queues, alarms, reconcilerGb }: Settings): Readonly<Record<string, number>> {
  const looks = MINUTES_OF_A_MONTH;
  return {
    reconciler:
      looks *
      (PRICES.lambdaRequest +
        ASSUMED.lookSeconds * reconcilerGb * PRICES.lambdaGbSecond +
        PRICES.scheduledInvocation),
    "wake hint": looks * PRICES.dynamoRead + (looks / 60) * PRICES.dynamoWrite,
    "empty polls": looks * ASSUMED.emptyPollsPerMinute * queues * PRICES.sqsRequest,
    logs: ((looks * ASSUMED.logBytesPerLook) / 1e9) * PRICES.logsGb,
    alarms: alarms * PRICES.alarmMonth,
    dashboard: PRICES.dashboardMonth,
    secrets: 2 * PRICES.secretMonth,
  };
}

/** The same runs as Lambda durable functions: an operation for the start and each step, beside the same compute. */
export function durableFunctions(steps: number, { workerGb }: Settings): number {
  const { overheadSeconds, stepSeconds, durableBytesPerStep } = ASSUMED;
  const seconds = overheadSeconds + steps * stepSeconds;
  const operations = 1 + steps;
  const written = ((MILLION * steps * durableBytesPerStep) / 1e9) * PRICES.durableWrittenGb;
  return (
    MILLION *
      (PRICES.httpRequest +
        PRICES.lambdaRequest +
        seconds * workerGb * PRICES.lambdaGbSecond +
        operations * PRICES.durableOperation) +
    written
  );
}

/** The same runs as a Standard workflow of Step Functions: a transition for the start and each step, a function for each. */
export function stepFunctions(steps: number, { workerGb }: Settings): number {
  const perStep = PRICES.lambdaRequest + ASSUMED.stepSeconds * workerGb * PRICES.lambdaGbSecond;
  return MILLION * (PRICES.httpRequest + (1 + steps) * PRICES.stateTransition + steps * perStep);
}

export function total(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((sum, dollars) => sum + dollars, 0);
}

/** What the cost of a configuration's deployment depends on. */
export async function settingsOf(config: string): Promise<Settings> {
  const loaded = await loadConfig(config);
  const plan = planDeployment(loaded.config);
  const gb = (id: string) => (plan.functions.find((one) => one.id === id)?.memoryMb ?? 0) / 1_024;
  return {
    queues: plan.queues.length,
    alarms: plan.alarms.length,
    httpGb: gb("admission"),
    workerGb: gb(plan.queues[0]?.mapping?.function ?? ""),
    reconcilerGb: gb("reconciler"),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const settings = await settingsOf(
    fileURLToPath(new URL("../../packages/workflows/ghouls.config.ts", import.meta.url)),
  );
  const dollars = (amount: number) => `$${amount.toFixed(2)}`;
  const inWords = (parts: Readonly<Record<string, number>>) =>
    Object.entries(parts)
      .map(([name, amount]) => `${name} ${dollars(amount)}`)
      .join(", ");
  const rows = [1, 10].map((steps) => [
    `${steps} step${steps === 1 ? "" : "s"} of ${ASSUMED.stepSeconds * 1_000} ms`,
    dollars(total(millionRuns(steps, settings))),
    dollars(durableFunctions(steps, settings)),
    dollars(stepFunctions(steps, settings)),
  ]);
  const idle = idleMonth(settings);
  process.stdout.write(
    [
      `List prices of us-east-1 on ${PRICES_OF}, no free tier, the database aside. A million runs:`,
      ...grid([["", "Ghouls", "durable functions", "Step Functions"], ...rows]),
      `of 10 steps: ${inWords(millionRuns(10, settings))}`,
      `an idle month: ${dollars(total(idle))} (${inWords(idle)})`,
      "",
    ].join("\n"),
  );
}
