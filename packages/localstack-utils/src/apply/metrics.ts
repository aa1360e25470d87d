import type { ComparisonOperator, Statistic } from "@aws-sdk/client-cloudwatch";
import { removed, type Applier } from "./applier.ts";

export const alarm: Applier = {
  apply: async ({ clients: { metrics }, inputs }) => {
    const name = inputs.text("name");
    await metrics.putMetricAlarm({
      AlarmName: name,
      AlarmDescription: inputs.text("alarmDescription"),
      Namespace: inputs.text("namespace"),
      MetricName: inputs.text("metricName"),
      Dimensions: Object.entries(inputs.record("dimensions")).map(([Name, Value]) => ({ Name, Value })),
      Statistic: inputs.text("statistic") as Statistic,
      Period: inputs.number("period"),
      EvaluationPeriods: inputs.number("evaluationPeriods"),
      Threshold: inputs.number("threshold"),
      ComparisonOperator: inputs.text("comparisonOperator") as ComparisonOperator,
      TreatMissingData: inputs.text("treatMissingData"),
      AlarmActions: inputs.texts("alarmActions"),
    });
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { metrics }) => removed(metrics.deleteAlarms({ AlarmNames: [keys["name"] ?? ""] })),
};

export const dashboard: Applier = {
  apply: async ({ clients: { metrics }, inputs }) => {
    const name = inputs.text("dashboardName");
    await metrics.putDashboard({ DashboardName: name, DashboardBody: inputs.text("dashboardBody") });
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { metrics }) =>
    removed(metrics.deleteDashboards({ DashboardNames: [keys["name"] ?? ""] })),
};
