import type { Graph } from "@ghouls/localstack-utils";
import type { Check, Expected } from "./check.ts";
import { alarms, componentOf, dashboards, deadLetterQueues, functions, workQueues } from "./resources.ts";

type Alarm = ReturnType<typeof alarms>[number]["inputs"];

/** Alarms on a metric of one queue or function, where it crosses its threshold in this direction. */
function on(
  graph: Graph,
  [metric, dimension, value]: readonly [string, string, string],
  sounds: (alarm: Alarm) => boolean,
): boolean {
  return alarms(graph).some(
    ({ inputs }) =>
      inputs.namespace === (dimension === "QueueName" ? "AWS/SQS" : "AWS/Lambda") &&
      inputs.metricName === metric &&
      inputs.dimensions[dimension] === value &&
      Object.keys(inputs.dimensions).length === 1 &&
      inputs.actionsEnabled &&
      sounds(inputs),
  );
}

/** Sounds at the first one. */
const atOne = ({ comparisonOperator, threshold }: Alarm): boolean =>
  (comparisonOperator === "GreaterThanThreshold" && threshold >= 0 && threshold < 1) ||
  (comparisonOperator === "GreaterThanOrEqualToThreshold" && threshold > 0 && threshold <= 1);

export const deadLetterAlarms: Check = (graph) =>
  deadLetterQueues(graph)
    .filter(
      ({ inputs }) => !on(graph, ["ApproximateNumberOfMessagesVisible", "QueueName", inputs.name], atOne),
    )
    .map(({ name }) => `nobody hears of a message in ${name}`);

export const waitingAlarms: Check = (graph) =>
  workQueues(graph)
    .filter(({ inputs }) => {
      const rises = ({ comparisonOperator }: Alarm) => comparisonOperator.startsWith("GreaterThan");
      return !on(graph, ["ApproximateAgeOfOldestMessage", "QueueName", inputs.name], rises);
    })
    .map(({ name }) => `nobody hears of messages that wait in ${name}`);

export const errorAlarms: Check = (graph) =>
  functions(graph)
    .filter(({ inputs }) => !on(graph, ["Errors", "FunctionName", inputs.name], atOne))
    .map(({ name }) => `nobody hears of errors of ${name}`);

/** No data at all is what a reconciler that is not invoked gives. */
export const silenceAlarm: Check = (graph, { reconciler }) =>
  functions(graph)
    .filter((fn) => componentOf(fn) === reconciler)
    .filter(({ inputs }) => {
      const falls = ({ comparisonOperator, treatMissingData, threshold }: Alarm) =>
        comparisonOperator === "LessThanThreshold" && threshold >= 1 && treatMissingData === "breaching";
      return !on(graph, ["Invocations", "FunctionName", inputs.name], falls);
    })
    .map(({ name }) => `nobody hears when ${name} falls silent`);

/** Measures that somebody has to hear of, of the deployment that the functions say they are. */
const MEASURED = ["OldestUnrepaired", "IntegrityFaults", "RunsWithAttention"];

export const ledgerAlarms: Check = (graph, { reconciler }) => {
  const fn = functions(graph).find((one) => componentOf(one) === reconciler);
  const deployment = fn?.inputs.environment.variables["GHOULS_DEPLOYMENT"];
  return MEASURED.filter(
    (metric) =>
      !alarms(graph).some(
        ({ inputs }) =>
          inputs.namespace === "Ghouls" &&
          inputs.metricName === metric &&
          inputs.actionsEnabled &&
          inputs.comparisonOperator === "GreaterThanThreshold" &&
          Object.keys(inputs.dimensions).join() === "service" &&
          inputs.dimensions["service"] === deployment,
      ),
  ).map((metric) => `nobody hears of ${metric}`);
};

export const alarmActions: Check = (graph, { topic }: Expected) =>
  alarms(graph)
    .filter(({ inputs }) => inputs.alarmActions.join() !== (topic ?? ""))
    .map(({ name, inputs }) => `${name} tells ${inputs.alarmActions.join(", ") || "nobody"}`);

export const dashboard: Check = (graph) => {
  const shown = dashboards(graph).flatMap(({ inputs }) =>
    inputs.dashboardBody.widgets.flatMap(({ properties }) =>
      properties.metrics.map(([, , dimension, value]) => `${String(dimension)} ${String(value)}`),
    ),
  );
  const wanted = [
    ...functions(graph).map(({ name, inputs }) => ({ name, metric: `FunctionName ${inputs.name}` })),
    ...[...workQueues(graph), ...deadLetterQueues(graph)].map(({ name, inputs }) => ({
      name,
      metric: `QueueName ${inputs.name}`,
    })),
  ];
  return wanted
    .filter(({ metric }) => !shown.includes(metric))
    .map(({ name }) => `${name} is on no dashboard`);
};
