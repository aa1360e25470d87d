import type { DeploymentPlan } from "@ghouls/functions";
import { functionOf, type Functions } from "./deploy.ts";
import { logicalName, type Components } from "./platform.ts";

/** What invokes the reconciler. */
export function makeSchedule({ sst }: Components, { schedule }: DeploymentPlan, made: Functions): void {
  new sst.aws.CronV2(logicalName("schedule"), {
    schedule: schedule.expression,
    retries: schedule.retries,
    function: functionOf(made, schedule.function).arn,
  });
}
