import { inject } from "vitest";
import { openClients } from "@ghouls/localstack-utils";

/** How much of each kind is at the emulator. */
export async function standing(): Promise<Readonly<Record<string, number>>> {
  const endpoint = inject("emulator");
  if (endpoint === null) return {};
  const clients = openClients({ url: endpoint, region: "us-east-1" });
  const { http, iam, lambda, logs, metrics, scheduler, secrets, sqs, tables } = clients;
  try {
    return {
      apis: (await http.getApis()).Items?.length ?? 0,
      roles: (await iam.listRoles()).Roles?.length ?? 0,
      functions: (await lambda.listFunctions()).Functions?.length ?? 0,
      mappings: (await lambda.listEventSourceMappings()).EventSourceMappings?.length ?? 0,
      logGroups: (await logs.describeLogGroups()).logGroups?.length ?? 0,
      alarms: (await metrics.describeAlarms()).MetricAlarms?.length ?? 0,
      dashboards: (await metrics.listDashboards()).DashboardEntries?.length ?? 0,
      schedules: (await scheduler.listSchedules()).Schedules?.length ?? 0,
      secrets: (await secrets.listSecrets()).SecretList?.length ?? 0,
      queues: (await sqs.listQueues()).QueueUrls?.length ?? 0,
      tables: (await tables.listTables()).TableNames?.length ?? 0,
    };
  } finally {
    clients.destroy();
  }
}
