import * as z from "zod";

const count = (least: number, most: number) => z.int().min(least).max(most);

/** Of what CloudWatch Logs takes. Source: "PutRetentionPolicy". */
const LOG_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 180, 365] as const;

/**
 * What a deployment decides besides the configuration. Plain data: what names a resource of an account (ids, ARNs) is given
 * where the plan is carried out, and stands in the plan as a reference.
 */
export const PlanOptions = z.strictObject({
  database: z
    .strictObject({
      driver: z.enum(["pg", "neon"]).default("pg"),
      /** "secret": Secrets Manager holds the connection string. "iam": RDS tokens, and a connection string without a password. */
      auth: z.enum(["secret", "iam"]).default("secret"),
      /** Whether the secrets are encrypted with a key of the account's own. */
      ownKey: z.boolean().default(false),
      /** Role that the application connects as: the migration grants to it. */
      applicationRole: z.string().min(1).default("ghouls_app"),
      /** Connections that the server leaves to Ghouls. The worst case of the deployment must fit. */
      maxConnections: count(1, 100_000).default(90),
    })
    .prefault({}),
  /** Whether the functions run inside a VPC, and whether the endpoints that they need there are made. */
  vpc: z
    .strictObject({ endpoints: z.boolean().default(true) })
    .nullable()
    .default(null),
  concurrency: z
    .strictObject({
      /** The account's limit of concurrent executions; 10 is what a new account has. */
      account: count(1, 100_000).default(10),
      /** Reserved executions by function. Nothing is reserved unless it is named: a reservation takes from all others. */
      reserved: z.record(z.string(), count(1, 10_000)).default({}),
    })
    .prefault({}),
  /** Memory by kind of function, in MB. */
  memory: z
    .strictObject({
      http: count(128, 10_240).default(512),
      worker: count(128, 10_240).default(1_024),
      reconciler: count(128, 10_240).default(512),
      deploy: count(128, 10_240).default(512),
      egress: count(128, 10_240).default(256),
    })
    .prefault({}),
  /** Requests a second, and at once, that API Gateway lets through. */
  throttle: z
    .strictObject({ rate: count(1, 10_000).default(50), burst: count(1, 5_000).default(100) })
    .prefault({}),
  /** Days that logs are kept. */
  logDays: z.literal(LOG_DAYS, `one of ${LOG_DAYS.join(", ")}`).default(30),
  alarms: z
    .strictObject({
      /** Age of the oldest message at which an alarm sounds, in seconds. */
      oldestMessageSeconds: count(60, 1_209_600).default(900),
      /** How long something may have been due at the reconciler when an alarm sounds, in seconds. */
      unrepairedSeconds: count(60, 1_209_600).default(900),
    })
    .prefault({}),
});
export type PlanOptions = z.output<typeof PlanOptions>;
export type PlanOptionsInput = z.input<typeof PlanOptions>;
