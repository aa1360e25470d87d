import type { GhoulsOptions, Input } from "./options.ts";
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

/**
 * IAM compares the whole ARN of a secret, and Secrets Manager ends each with six characters of its own.
 * @throws Error for an ARN without them: no function could read the secret
 */
function wholeArn(secret: Input<string>): Value<string> {
  if (typeof secret !== "string" || /^arn:[^:]+:secretsmanager:.+-[A-Za-z0-9]{6}$/.test(secret)) {
    return secret as Value<string>;
  }
  throw new Error(
    `"${secret}" is not the whole ARN of a secret.\n  Fix: give it with the six characters at its end, as \`aws secretsmanager describe-secret\` prints it.`,
  );
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
  references.set("database.application.secret.arn", wholeArn(database.secret));
  references.set("database.migrator.secret.arn", wholeArn(database.migrationSecret));
  if (database.key !== undefined) references.set("database.key.arn", database.key as Value<string>);
}
