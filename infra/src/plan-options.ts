import type { GhoulsOptions } from "./options.ts";
import type { Value } from "./platform.ts";
import type { References } from "./references.ts";

/** What the plan is made of: plain data, without the ids of the account. */
export function planOptionsOf({
  database,
  vpc,
  concurrency,
  memory,
  throttle,
  logDays,
  alarms,
}: GhoulsOptions) {
  return {
    database: {
      driver: database.driver,
      applicationRole: database.applicationRole,
      maxConnections: database.maxConnections,
      auth: "iam" in database ? "iam" : "secret",
      ownKey: "key" in database && database.key !== undefined,
    },
    vpc: vpc === undefined ? null : { endpoints: vpc.endpoints ?? true },
    concurrency,
    memory,
    throttle,
    logDays,
    alarms:
      alarms?.oldestMessageSeconds === undefined
        ? undefined
        : { oldestMessageSeconds: alarms.oldestMessageSeconds },
  };
}

/** What the plan calls the ids and addresses that were given. */
export function nameGiven({ database }: GhoulsOptions, references: References): void {
  if ("iam" in database) {
    for (const as of ["application", "migrator"] as const) {
      references.set(`database.${as}.url`, database.iam[as].url as Value<string>);
      references.set(`database.${as}.user.arn`, database.iam[as].user as Value<string>);
    }
    return;
  }
  references.set("database.application.secret.arn", database.secret as Value<string>);
  references.set("database.migrator.secret.arn", database.migrationSecret as Value<string>);
  if (database.key !== undefined) references.set("database.key.arn", database.key as Value<string>);
}
