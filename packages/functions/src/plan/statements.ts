import { GhoulsError, type ServicePermission } from "@ghouls/core";
import { ref } from "./names.ts";
import type { PlanOptions } from "./options.ts";
import type { QueuePlan } from "./queues.ts";
import type { ReleasesPlan } from "./releases.ts";

/** One statement of a role, written by hand. No action is a `*`, and no resource but the one that says why. */
export interface StatementPlan {
  readonly sid: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions?: readonly {
    readonly test: string;
    readonly variable: string;
    readonly values: readonly string[];
  }[];
}

/** Into the function's own log group; the trailing `:*` names its streams, as CloudWatch Logs wants it. */
export function writesLog(id: string): StatementPlan {
  return {
    sid: "WriteLog",
    actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
    resources: [`${ref(`function.${id}.log.arn`)}:*`],
  };
}

export function sends(queues: readonly QueuePlan[]): StatementPlan {
  return { sid: "Publish", actions: ["sqs:SendMessage"], resources: queues.map(({ arn }) => arn) };
}

/** What Lambda's poller does with the function's role, and the worker's own changes of visibility. */
export function consumes(queue: QueuePlan): StatementPlan {
  return {
    sid: "Consume",
    actions: [
      "sqs:ReceiveMessage",
      "sqs:DeleteMessage",
      "sqs:ChangeMessageVisibility",
      "sqs:GetQueueAttributes",
    ],
    resources: [queue.arn],
  };
}

/** What the reconciler does with what a queue has given up on. */
export function readsDeadLetters(queues: readonly QueuePlan[]): StatementPlan {
  return {
    sid: "DeadLetters",
    actions: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
    resources: queues.map(({ deadLetterArn }) => deadLetterArn),
  };
}

/** What runs say, by those that carry, publish or end them; nothing of it is read by them. */
export const saysEvents: StatementPlan = ofEvents("SayEvents", [
  "dynamodb:BatchWriteItem",
  "dynamodb:PutItem",
]);

/** What runs have said, by those that tell it. */
export const followsEvents: StatementPlan = ofEvents("FollowEvents", ["dynamodb:Query"]);

function ofEvents(sid: string, actions: readonly string[]): StatementPlan {
  return {
    sid,
    actions,
    resources: [ref("table.arn")],
    conditions: [{ test: "ForAllValues:StringLike", variable: "dynamodb:LeadingKeys", values: ["run#*"] }],
  };
}

/** The one item of the table that says when the reconciler must look; "lowers" never reads it. */
export function hint(what: "lowers" | "keeps"): StatementPlan {
  return {
    sid: "WakeHint",
    actions: what === "lowers" ? ["dynamodb:UpdateItem"] : ["dynamodb:GetItem", "dynamodb:UpdateItem"],
    resources: [ref("table.arn")],
    conditions: [
      { test: "ForAllValues:StringEquals", variable: "dynamodb:LeadingKeys", values: ["reconciler"] },
    ],
  };
}

/**
 * What Lambda does with a function's role to give it network interfaces in a VPC. AWS takes no narrower resource for it.
 * Source: AWS Lambda, "Giving Lambda functions access to resources in an Amazon VPC".
 */
export const entersVpc: StatementPlan = {
  sid: "EnterVpc",
  actions: [
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
  ],
  resources: ["*"],
};

/** Bundles of releases; whoever may not list is told of none that it is gone. */
export function readsReleases(releases: ReleasesPlan): StatementPlan[] {
  return [
    { sid: "ReadReleases", actions: ["s3:GetObject"], resources: [releases.objects] },
    {
      sid: "MissReleases",
      actions: ["s3:ListBucket"],
      resources: [releases.arn],
      conditions: [{ test: "StringLike", variable: "s3:prefix", values: [`${releases.prefix}/*`] }],
    },
  ];
}

/** What a clean-up takes out. */
export function removesReleases(releases: ReleasesPlan): StatementPlan {
  return { sid: "RemoveReleases", actions: ["s3:DeleteObject"], resources: [releases.objects] };
}

/** Questions to services, through the function that has no other right. */
export const asksServices: StatementPlan = {
  sid: "AskServices",
  actions: ["lambda:InvokeFunction"],
  resources: [ref("function.egress.arn")],
};

/**
 * What services say that asking them needs, each of it once.
 * @throws GhoulsError configuration_invalid for what would allow more than it names
 */
export function allowedBy(
  services: Readonly<Record<string, { readonly permissions?: readonly ServicePermission[] }>>,
): StatementPlan[] {
  const named = Object.entries(services).flatMap(([service, { permissions = [] }]) =>
    permissions.map(({ actions, resources }) => {
      const wide = [
        ...actions.filter((one) => !ACTION.test(one)),
        ...resources.filter((one) => !NARROW.test(one)),
      ];
      if (wide.length > 0 || actions.length === 0 || resources.length === 0) throw tooWide(service, wide);
      return { actions: actions.toSorted(), resources: resources.toSorted() };
    }),
  );
  const once = new Map(named.map((one) => [JSON.stringify(one), one]));
  return [...once.values()].map((one, at) => ({ sid: `AskService${at + 1}`, ...one }));
}

const ACTION = /^[a-z0-9-]+:[A-Za-z0-9]+$/;

/** An ARN whose end alone may be open. No reference: a service has none. */
const NARROW = /^arn(?::[^:*?$\s]+){2}(?::[^:*?$\s]*){2}:[^*?$\s]+\*?$/;

function tooWide(service: string, wide: readonly string[]): GhoulsError {
  return new GhoulsError(
    "configuration_invalid",
    `the service "${service}" asks for permissions that a deployment does not give: ${wide.join(", ") || "none is named"}`,
    {
      fix: "Name each action and the whole ARN of each resource in the service's `permissions`; only the end of an ARN may be `*`.",
    },
  );
}

/** How a function learns what it connects with: the application's role, or the migrator's. */
export function connects(as: "application" | "migrator", database: PlanOptions["database"]): StatementPlan[] {
  if (database.auth === "iam") {
    return [{ sid: "Connect", actions: ["rds-db:connect"], resources: [ref(`database.${as}.user.arn`)] }];
  }
  const secret: StatementPlan = {
    sid: "ReadSecret",
    actions: ["secretsmanager:GetSecretValue"],
    resources: [ref(`database.${as}.secret.arn`)],
  };
  if (!database.ownKey) return [secret];
  return [secret, { sid: "DecryptSecret", actions: ["kms:Decrypt"], resources: [ref("database.key.arn")] }];
}
