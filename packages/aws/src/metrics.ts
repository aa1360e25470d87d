import { Metrics as PowertoolsMetrics } from "@aws-lambda-powertools/metrics";
import { METRICS, METRICS_NAMESPACE, type Metrics } from "@ghouls/core";

/**
 * CloudWatch's embedded metric format on standard output, which Lambda's log takes: no call, and no permission. Powertools
 * keeps its rules (100 metrics an object, units, dimensions).
 * @param deployment which of an account's deployments it is
 */
export function openMetrics(deployment: string): Metrics {
  const metrics = new PowertoolsMetrics({ namespace: METRICS_NAMESPACE, serviceName: deployment });
  return {
    record: (name, value, which) => {
      const { unit, by } = METRICS[name];
      const into = by === null ? metrics : metrics.singleMetric().addDimension(by, which ?? "unknown");
      into.addMetric(name, unit, value);
    },
    flush: () => {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    },
  };
}
