import type { Expected } from "./checks/check.ts";

const SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret";
export const APPLICATION_SECRET = `${SECRET}:ghouls/application-AbCdEf`;
export const MIGRATION_SECRET = `${SECRET}:ghouls/migrator-AbCdEf`;

/** What the root's sst.config.ts reads. The last two it must not read: no function may get a connection string. */
export const ENVIRONMENT = {
  GHOULS_DATABASE_SECRET_ARN: APPLICATION_SECRET,
  GHOULS_MIGRATION_DATABASE_SECRET_ARN: MIGRATION_SECRET,
  DATABASE_URL: "postgres://app:a-password-of-the-application@db.example:5432/app",
  GHOULS_MIGRATION_DATABASE_URL: "postgres://owner:a-password-of-the-migrator@db.example:5432/app",
};

/** Streams of a function's own log group: CloudWatch Logs wants the pattern. */
const log = (component: string) => `logs:CreateLogStream, logs:PutLogEvents on ${component}Log:*`;
const secret = (arn: string) => `secretsmanager:GetSecretValue on ${arn}`;
const application = secret(APPLICATION_SECRET);
const HINT = "when ForAllValues:StringEquals dynamodb:LeadingKeys reconciler";
const lowersHint = `dynamodb:UpdateItem on GhoulsEventsTable ${HINT}`;
const consumes = (queue: string) =>
  `sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:ReceiveMessage on ${queue}`;
const sendsToBoth = "sqs:SendMessage on GhoulsRitesQueue, GhoulsRunsQueue";

/** What each function may do, by hand: a new permission is a decision, and is written here first. */
const PERMISSIONS: Expected["permissions"] = {
  GhoulsAdmission: [log("GhoulsAdmission"), application, sendsToBoth, lowersHint],
  GhoulsApi: [log("GhoulsApi"), application],
  GhoulsWorkerRuns: [
    log("GhoulsWorkerRuns"),
    application,
    consumes("GhoulsRunsQueue"),
    "sqs:SendMessage on GhoulsRunsQueue",
    lowersHint,
  ],
  GhoulsWorkerRites: [
    log("GhoulsWorkerRites"),
    application,
    consumes("GhoulsRitesQueue"),
    "sqs:SendMessage on GhoulsRitesQueue",
    lowersHint,
  ],
  GhoulsReconciler: [
    log("GhoulsReconciler"),
    application,
    sendsToBoth,
    `dynamodb:GetItem, dynamodb:UpdateItem on GhoulsEventsTable ${HINT}`,
  ],
  GhoulsMigrate: [log("GhoulsMigrate"), secret(MIGRATION_SECRET)],
  GhoulsPreflight: [log("GhoulsPreflight"), application],
  GhoulsSchedule: ["lambda:InvokeFunction on GhoulsReconcilerFunction"],
};

const FUNCTIONS = Object.keys(PERMISSIONS).filter((name) => name !== "GhoulsSchedule");

export const EXPECTED: Expected = {
  migrate: "GhoulsMigrate",
  preflight: "GhoulsPreflight",
  reconciler: "GhoulsReconciler",
  routes: {},
  senders: {
    GhoulsRuns: ["GhoulsAdmission", "GhoulsWorkerRuns", "GhoulsReconciler"],
    GhoulsRites: ["GhoulsAdmission", "GhoulsWorkerRites", "GhoulsReconciler"],
  },
  permissions: PERMISSIONS,
  patterns: Object.fromEntries(
    FUNCTIONS.map((name) => [log(name), "a log stream's name is made by Lambda at run time"]),
  ),
  reserved: {},
  logDays: 30,
  secretValues: ["a-password-of-the", "looked-up-secret-value"],
};
