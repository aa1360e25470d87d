import type { DeploymentPlan } from "@ghouls/functions";
import { logicalName, type Components } from "./platform.ts";
import type { References } from "./references.ts";

/** Events, short-lived, and the reconciler's hint. Nothing in it decides anything: the ledger does. */
export function makeTable({ sst }: Components, { table }: DeploymentPlan, references: References) {
  const made = new sst.aws.Dynamo(logicalName("events"), {
    fields: { [table.keys.hash]: "string", [table.keys.range]: "string" },
    primaryIndex: { hashKey: table.keys.hash, rangeKey: table.keys.range },
    ttl: table.ttl,
    deletionProtection: $app.protect === true,
  });
  references.set("table.arn", made.arn);
  references.set("table.name", made.name);
  return made;
}
