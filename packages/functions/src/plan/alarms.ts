import { DEPLOYMENT_DIMENSION, METRICS_NAMESPACE, type MetricName } from "@ghouls/core";
import type { FunctionPlan } from "./functions.ts";
import type { PlanOptions } from "./options.ts";
import type { QueuePlan } from "./queues.ts";
import { ref } from "./names.ts";

export interface AlarmPlan {
  /** Unique in the plan; becomes the resource's name. */
  readonly id: string;
  /** For whoever is woken: what it means, in a sentence. */
  readonly meaning: string;
  readonly namespace: string;
  readonly metric: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly statistic: "Sum" | "Maximum";
  readonly periodSeconds: number;
  readonly periods: number;
  readonly comparison: "GreaterThanThreshold" | "LessThanThreshold";
  readonly threshold: number;
  /** What no data at all means: nothing happened, or nobody is there. */
  readonly missing: "notBreaching" | "breaching";
}

/** One for each way in which a deployment falls silent or fails. */
export function planAlarms(
  queues: readonly QueuePlan[],
  functions: readonly FunctionPlan[],
  options: PlanOptions,
): AlarmPlan[] {
  return [
    ...queues.flatMap((queue) => queueAlarms(queue, options)),
    ...functions.map(errorsOf),
    ...functions.filter(({ entry }) => entry !== "migrate" && entry !== "preflight").map(throttlesOf),
    silentReconciler(),
    failingApi(),
    ...ledgerAlarms(options),
  ];
}

function queueAlarms({ name }: QueuePlan, { alarms }: PlanOptions): AlarmPlan[] {
  return [
    {
      id: `${name}-dead-letters`,
      meaning: `Messages of ${name} were received too often. No run failed by that: look at its worker's log.`,
      namespace: "AWS/SQS",
      metric: "ApproximateNumberOfMessagesVisible",
      dimensions: { QueueName: ref(`queue.${name}.deadLetter.name`) },
      statistic: "Maximum",
      periodSeconds: 60,
      periods: 1,
      comparison: "GreaterThanThreshold",
      threshold: 0,
      missing: "notBreaching",
    },
    {
      id: `${name}-oldest-message`,
      meaning: `Runs wait in ${name}: its workers are too few, throttled or failing.`,
      namespace: "AWS/SQS",
      metric: "ApproximateAgeOfOldestMessage",
      dimensions: { QueueName: ref(`queue.${name}.name`) },
      statistic: "Maximum",
      periodSeconds: 60,
      periods: 3,
      comparison: "GreaterThanThreshold",
      threshold: alarms.oldestMessageSeconds,
      missing: "notBreaching",
    },
  ];
}

function errorsOf({ id }: FunctionPlan): AlarmPlan {
  return {
    id: `${id}-errors`,
    meaning: `Invocations of ${id} fail: an error that belongs to no run, a timeout, or a process that had to end.`,
    ...ofFunction(id, "Errors"),
    periods: 2,
    comparison: "GreaterThanThreshold",
    threshold: 0,
    missing: "notBreaching",
  };
}

function throttlesOf({ id }: FunctionPlan): AlarmPlan {
  return {
    id: `${id}-throttles`,
    meaning: `Lambda turns invocations of ${id} away: the account's concurrency is used up.`,
    ...ofFunction(id, "Throttles"),
    periods: 3,
    comparison: "GreaterThanThreshold",
    threshold: 0,
    missing: "notBreaching",
  };
}

function silentReconciler(): AlarmPlan {
  return {
    id: "reconciler-silent",
    meaning: "The reconciler has not run for five minutes: what a crash leaves is not repaired.",
    ...ofFunction("reconciler", "Invocations"),
    periodSeconds: 300,
    periods: 1,
    comparison: "LessThanThreshold",
    threshold: 1,
    missing: "breaching",
  };
}

/** What the reconciler says of the ledger, in each invocation that has looked at it. */
function ledgerAlarms({ alarms }: PlanOptions): AlarmPlan[] {
  const shared = {
    namespace: METRICS_NAMESPACE,
    dimensions: { [DEPLOYMENT_DIMENSION]: ref("deployment") },
    statistic: "Maximum",
    periodSeconds: 300,
    periods: 1,
    comparison: "GreaterThanThreshold",
    threshold: 0,
    missing: "notBreaching",
  } as const;
  return [
    {
      ...shared,
      id: "ledger-unrepaired",
      meaning:
        "Something has been due at the reconciler for too long: it does not come to it, or cannot do it.",
      metric: named("OldestUnrepaired"),
      threshold: alarms.unrepairedSeconds,
    },
    {
      ...shared,
      id: "ledger-integrity",
      meaning: "The ledger contradicts itself, and nobody has acknowledged it: the next deploy stops.",
      metric: named("IntegrityFaults"),
    },
    {
      ...shared,
      id: "ledger-attention",
      meaning: "A run asks for a person: `ghouls runs --attention` lists which.",
      metric: named("RunsWithAttention"),
    },
  ];
}

/** Held to what is measured. */
const named = (name: MetricName): string => name;

function failingApi(): AlarmPlan {
  return {
    id: "api-failures",
    meaning: "The HTTP API answers with 5xx: the functions behind it fail, or the ledger is out of reach.",
    namespace: "AWS/ApiGateway",
    metric: "5xx",
    dimensions: { ApiId: ref("http.id") },
    statistic: "Sum",
    periodSeconds: 60,
    periods: 3,
    comparison: "GreaterThanThreshold",
    threshold: 0,
    missing: "notBreaching",
  };
}

function ofFunction(id: string, metric: string) {
  return {
    namespace: "AWS/Lambda",
    metric,
    dimensions: { FunctionName: ref(`function.${id}.name`) },
    statistic: "Sum",
    periodSeconds: 60,
  } as const;
}
