import type { Graph } from "@ghouls/localstack-utils";

/** What a graph is held against. */
export interface Expected {
  /** Logical names of the functions with a part of their own. */
  readonly migrate: string;
  readonly preflight: string;
  readonly reconciler: string;
  /** The one that has a URL of its own, and streams. */
  readonly streams: string;
  /** Whether its configuration has workflows, so that a build has releases. */
  readonly releases: boolean;
  /** Where questions to services leave from, and which functions ask them. */
  readonly egress?: { readonly function: string; readonly asking: readonly string[] };
  /** Function by route key. */
  readonly routes: Readonly<Record<string, string>>;
  /** Functions that send, by logical name of the queue. */
  readonly senders: Readonly<Record<string, readonly string[]>>;
  /** All that a function may do, as `permissionsOf` words it. */
  readonly permissions: Readonly<Record<string, readonly string[]>>;
  /** Allowances whose resource is a pattern, as `permissionsOf` words them, with the reason why it is no narrower. */
  readonly patterns: Readonly<Record<string, string>>;
  /** Executions that are reserved, by function. */
  readonly reserved: Readonly<Record<string, number>>;
  readonly vpc?: ExpectedVpc;
  /** ARN of the topic that alarms tell. */
  readonly topic?: string;
  readonly logDays: number;
  /** Texts that must stand nowhere. */
  readonly secretValues: readonly string[];
}

export interface ExpectedVpc {
  readonly id: string;
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  /** Route tables by which gateways are reached. */
  readonly routeTables: readonly string[];
  /** Services that are reached through an endpoint, such as "sqs". */
  readonly interfaces: readonly string[];
  readonly gateways: readonly string[];
  /** Functions that stay outside. */
  readonly outside?: readonly string[];
}

/** Says in words what is wrong with a graph; nothing where it holds. */
export type Check = (graph: Graph, expected: Expected) => string[];
