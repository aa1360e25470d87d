import { DEPLOYMENT_DIMENSION, METRICS_NAMESPACE, type MetricName } from "@ghouls/core";
import type { FunctionPlan } from "./functions.ts";
import { ref } from "./names.ts";
import type { QueuePlan } from "./queues.ts";

/** One graph: metrics as CloudWatch's dashboards name them, [namespace, metric, dimension, value]. */
export interface WidgetPlan {
  readonly title: string;
  readonly statistic: "Sum" | "Maximum" | "p99";
  readonly metrics: readonly (readonly [string, string, string, string])[];
}

/** What somebody looks at first: what waits, what fails, how long it takes, how much runs. */
export function planDashboard(
  queues: readonly QueuePlan[],
  functions: readonly FunctionPlan[],
): WidgetPlan[] {
  const ofFunctions = (title: string, metric: string, statistic: WidgetPlan["statistic"]): WidgetPlan => ({
    title,
    statistic,
    metrics: functions.map(({ id }) => ["AWS/Lambda", metric, "FunctionName", ref(`function.${id}.name`)]),
  });
  const ofQueues = (title: string, metric: string, which: "name" | "deadLetter.name"): WidgetPlan => ({
    title,
    statistic: "Maximum",
    metrics: queues.map(({ name }) => ["AWS/SQS", metric, "QueueName", ref(`queue.${name}.${which}`)]),
  });
  const ofLedger = (title: string, metrics: readonly MetricName[]): WidgetPlan => ({
    title,
    statistic: "Maximum",
    metrics: metrics.map((metric) => [METRICS_NAMESPACE, metric, DEPLOYMENT_DIMENSION, ref("deployment")]),
  });
  return [
    ofLedger("Oldest unrepaired, timers late by (s)", ["OldestUnrepaired", "TimerLateness"]),
    { ...ofLedger("Workers lost", ["WorkersLost"]), statistic: "Sum" },
    ofLedger("What waits for a person", [
      "RunsWithAttention",
      "QuarantinedRuns",
      "IntegrityFaults",
      "DegradedOwners",
      "ForeignDeadLetters",
    ]),
    ofQueues("Age of the oldest message (s)", "ApproximateAgeOfOldestMessage", "name"),
    ofQueues("Messages that wait", "ApproximateNumberOfMessagesVisible", "name"),
    ofQueues("Dead letters", "ApproximateNumberOfMessagesVisible", "deadLetter.name"),
    ofFunctions("Invocations", "Invocations", "Sum"),
    ofFunctions("Errors", "Errors", "Sum"),
    ofFunctions("Throttles", "Throttles", "Sum"),
    ofFunctions("Concurrent executions", "ConcurrentExecutions", "Maximum"),
    ofFunctions("Duration, p99 (ms)", "Duration", "p99"),
    {
      title: "HTTP failures",
      statistic: "Sum",
      metrics: [
        ["AWS/ApiGateway", "4xx", "ApiId", ref("http.id")],
        ["AWS/ApiGateway", "5xx", "ApiId", ref("http.id")],
      ],
    },
  ];
}
