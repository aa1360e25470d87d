import type { DeploymentPlan } from "@ghouls/functions";
import { logicalName, type Components, type Value } from "./platform.ts";
import type { References } from "./references.ts";

export function makeAlarms(
  { aws }: Components,
  { alarms }: DeploymentPlan,
  references: References,
  topic: Value<string> | undefined,
): void {
  const actions = topic === undefined ? [] : [topic];
  for (const alarm of alarms) {
    new aws.cloudwatch.MetricAlarm(logicalName(`${alarm.id}-alarm`), {
      // Of its app and stage: whoever is woken reads the name first.
      name: `ghouls-${$app.name}-${$app.stage}-${alarm.id}`,
      alarmDescription: alarm.meaning,
      namespace: alarm.namespace,
      metricName: alarm.metric,
      dimensions: references.fillAll(alarm.dimensions),
      statistic: alarm.statistic,
      period: alarm.periodSeconds,
      evaluationPeriods: alarm.periods,
      threshold: alarm.threshold,
      comparisonOperator: alarm.comparison,
      treatMissingData: alarm.missing,
      alarmActions: actions,
      okActions: actions,
    });
  }
}

/** Two graphs in a row, each half of CloudWatch's 24 columns. */
export function makeDashboard(
  { aws }: Components,
  { dashboard }: DeploymentPlan,
  references: References,
): void {
  const region = aws.getRegionOutput().region;
  const widgets = dashboard.map(({ title, statistic, metrics }, index) =>
    $util
      .all([
        region,
        $util.all(metrics.map((metric) => $util.all(metric.map((part) => references.fill(part))))),
      ])
      .apply(([name, filled]) => ({
        type: "metric",
        x: (index % 2) * 12,
        y: Math.floor(index / 2) * 6,
        width: 12,
        height: 6,
        properties: { title, region: name, stat: statistic, period: 60, metrics: filled },
      })),
  );
  new aws.cloudwatch.Dashboard(logicalName("dashboard"), {
    dashboardName: `ghouls-${$app.name}-${$app.stage}`,
    dashboardBody: $util.all(widgets).apply((all) => JSON.stringify({ widgets: all })),
  });
}
