import { ROUTE_KEYS } from "@ghouls/api";
import type { Expected } from "./checks/check.ts";

/** How the functions of a variant come to the database, and what else each of them may do. */
export interface Access {
  readonly application: readonly string[];
  readonly migrator: readonly string[];
  /** The same for every function. */
  readonly all?: readonly string[];
}

const VPC_ACCESS =
  "ec2:AssignPrivateIpAddresses, ec2:CreateNetworkInterface, ec2:DeleteNetworkInterface, ec2:DescribeNetworkInterfaces, ec2:DescribeSubnets, ec2:UnassignPrivateIpAddresses on *";

/** Reasons for patterns. A pattern that is not here is refused, and so is one here that nobody has. */
const REASONS: Readonly<Record<string, string>> = {
  releases: "a bundle is named after its bytes, and those of builds to come are not known",
  log: "Lambda makes a log stream's name at run time; the group is the function's own",
  [VPC_ACCESS]: "AWS takes no narrower resource than * for the network interfaces of a function in a VPC",
};

/** Streams of a function's own log group. */
const log = (component: string) => `logs:CreateLogStream, logs:PutLogEvents on ${component}Log:*`;
const HINT = "when ForAllValues:StringEquals dynamodb:LeadingKeys reconciler";
const RUNS = "when ForAllValues:StringLike dynamodb:LeadingKeys run#*";
const saysEvents = `dynamodb:BatchWriteItem, dynamodb:PutItem on GhoulsEventsTable ${RUNS}`;
const followsEvents = `dynamodb:Query on GhoulsEventsTable ${RUNS}`;
const lowersHint = `dynamodb:UpdateItem on GhoulsEventsTable ${HINT}`;
const consumes = (queue: string) =>
  `sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:ReceiveMessage on ${queue}`;
/** Which bundles there will be, nobody knows when the role is made. */
const readsReleases = "s3:GetObject on GhoulsReleasesBucket/releases/*";
const removesReleases = "s3:DeleteObject on GhoulsReleasesBucket/releases/*";
/** S3 says of an object that it is not there only to whoever may list. */
const missesReleases = "s3:ListBucket on GhoulsReleasesBucket when StringLike s3:prefix releases/*";
const sendsToBoth = "sqs:SendMessage on GhoulsQueueRitesQueue, GhoulsQueueRunsQueue";

/** What each function may do, by hand: a new permission is a decision, and is written here first. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  GhoulsAdmission: [sendsToBoth, saysEvents, lowersHint],
  GhoulsApi: [followsEvents],
  GhoulsStream: [followsEvents],
  GhoulsWorkerRuns: [
    consumes("GhoulsQueueRunsQueue"),
    "sqs:SendMessage on GhoulsQueueRunsQueue",
    saysEvents,
    readsReleases,
    missesReleases,
    lowersHint,
  ],
  GhoulsWorkerRites: [
    consumes("GhoulsQueueRitesQueue"),
    "sqs:SendMessage on GhoulsQueueRitesQueue",
    saysEvents,
    readsReleases,
    missesReleases,
    lowersHint,
  ],
  GhoulsReconciler: [
    sendsToBoth,
    // Arrival in a dead-letter queue is held against the ledger.
    "sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:ReceiveMessage on GhoulsDeadLetterRitesQueue, GhoulsDeadLetterRunsQueue",
    saysEvents,
    `dynamodb:GetItem, dynamodb:UpdateItem on GhoulsEventsTable ${HINT}`,
  ],
  GhoulsMigrate: [],
  GhoulsPreflight: [readsReleases, missesReleases, removesReleases],
};
const FUNCTIONS = Object.keys(OWN);

/** Functions that ask services, where the configuration has some. */
const ASKING = ["GhoulsWorkerRuns", "GhoulsWorkerRites", "GhoulsReconciler"];
const asks = "lambda:InvokeFunction on GhoulsEgressFunction";

/** What a deployment with services has besides. */
export interface Services {
  /** What the project itself allows to the egress function, and what its services name. */
  readonly given: readonly string[];
  /** Patterns of these, with the reason why they are no narrower. */
  readonly patterns?: Readonly<Record<string, string>>;
}

function permissionsWith(
  { application, migrator, all = [] }: Access,
  services: Services | undefined,
): Expected["permissions"] {
  const functions = Object.entries(OWN).map(([name, own]) => {
    const database = name === "GhoulsMigrate" ? migrator : application;
    const asking = services !== undefined && ASKING.includes(name) ? [asks] : [];
    return [name, [log(name), ...database, ...own, ...asking, ...all]] as const;
  });
  return {
    ...Object.fromEntries(functions),
    ...(services === undefined ? {} : { GhoulsEgress: [log("GhoulsEgress"), ...services.given] }),
    GhoulsSchedule: ["lambda:InvokeFunction on GhoulsReconcilerFunction"],
  };
}

const ROUTES = Object.fromEntries([
  ...ROUTE_KEYS.admission.map((route) => [route, "GhoulsAdmission"]),
  ...ROUTE_KEYS.api.map((route) => [route, "GhoulsApi"]),
  // What is no route is answered with a problem document.
  ["$default", "GhoulsApi"],
]) as Record<string, string>;

/**
 * What a deployment of the examples must be.
 * @param senders ARNs of roles outside of it that publish
 */
export function expectedOf(
  access: Access,
  {
    senders = [],
    services,
    workflows = true,
  }: {
    readonly senders?: readonly string[];
    readonly services?: Services;
    /** Whether it has some, so that a build has releases. */
    readonly workflows?: boolean;
  } = {},
): Expected {
  const logging = services === undefined ? FUNCTIONS : [...FUNCTIONS, "GhoulsEgress"];
  return {
    migrate: "GhoulsMigrate",
    preflight: "GhoulsPreflight",
    reconciler: "GhoulsReconciler",
    streams: "GhoulsStream",
    releases: workflows,
    ...(services === undefined ? {} : { egress: { function: "GhoulsEgress", asking: ASKING } }),
    routes: ROUTES,
    senders: {
      GhoulsQueueRuns: ["GhoulsAdmission", "GhoulsWorkerRuns", "GhoulsReconciler", ...senders],
      GhoulsQueueRites: ["GhoulsAdmission", "GhoulsWorkerRites", "GhoulsReconciler", ...senders],
    },
    permissions: permissionsWith(access, services),
    patterns: {
      ...Object.fromEntries(logging.map((name) => [log(name), REASONS["log"] ?? ""])),
      [readsReleases]: REASONS["releases"] ?? "",
      [removesReleases]: REASONS["releases"] ?? "",
      ...(access.all?.includes(VPC_ACCESS) ? { [VPC_ACCESS]: REASONS[VPC_ACCESS] ?? "" } : {}),
      ...services?.patterns,
    },
    reserved: {},
    logDays: 30,
    secretValues: ["a-password-of-the", "looked-up-secret-value"],
  };
}

/** In a VPC. */
export const IN_VPC = [VPC_ACCESS];
