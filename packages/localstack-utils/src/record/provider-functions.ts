import type { JsonObject, Place } from "./graph.ts";

/** Stands where a lookup would give a secret's value: it must not be seen in any resource. */
const LOOKED_UP_SECRET = "looked-up-secret-value";

type Answer = (inputs: JsonObject, place: Place) => JsonObject;

/**
 * By token. A function that is missing is refused. So are those that read a secret's text (secretsmanager
 * getSecretVersion): the deployment would keep it in its state.
 */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "aws:index/getCallerIdentity:getCallerIdentity": (_, { account }) => ({
    id: account,
    accountId: account,
    arn: `arn:aws:iam::${account}:user/deployer`,
    userId: "AIDA0MOCK",
  }),
  "aws:index/getRegion:getRegion": (_, { region }) => ({
    id: region,
    region,
    name: region,
    description: region,
    endpoint: `ec2.${region}.amazonaws.com`,
  }),
  "aws:index/getPartition:getPartition": () => ({
    id: "aws",
    partition: "aws",
    dnsSuffix: "amazonaws.com",
    reverseDnsPrefix: "com.amazonaws",
  }),
  "aws:iam/getPolicyDocument:getPolicyDocument": (inputs) => {
    const json = JSON.stringify(policyDocument(inputs));
    const { statements, ...rest } = inputs;
    // The provider knows no empty list of statements; SST asks for the list to see whether there is a policy at all.
    const some = Array.isArray(statements) && statements.length > 0;
    return { ...rest, ...(some && { statements }), id: "policy", json, minifiedJson: json };
  },
  "aws:ec2/getVpc:getVpc": (inputs, place) => ({
    cidrBlock: "10.0.0.0/16",
    enableDnsHostnames: true,
    enableDnsSupport: true,
    ...idAndArn(inputs, place, "vpc", "vpc-0mock"),
  }),
  "aws:ec2/getSubnet:getSubnet": (inputs, place) => ({
    vpcId: "vpc-0mock",
    availabilityZone: `${place.region}a`,
    cidrBlock: "10.0.1.0/24",
    ...idAndArn(inputs, place, "subnet", "subnet-0mock"),
  }),
  "aws:ec2/getSecurityGroup:getSecurityGroup": (inputs, place) => ({
    vpcId: "vpc-0mock",
    ...idAndArn(inputs, place, "security-group", "sg-0mock"),
  }),
  "aws:ec2/getRouteTable:getRouteTable": (inputs) => ({
    ...inputs,
    id: `rtb-of-${text(inputs, "subnetId") ?? "main"}`,
    routeTableId: `rtb-of-${text(inputs, "subnetId") ?? "main"}`,
  }),
  "aws:ec2/getRouteTables:getRouteTables": (inputs) => ({
    ...inputs,
    id: "route-tables",
    ids: ["rtb-0mock"],
  }),
  "aws:secretsmanager/getSecret:getSecret": (inputs, place) => {
    const name = text(inputs, "name") ?? text(inputs, "arn") ?? "";
    const arn = `arn:aws:secretsmanager:${place.region}:${place.account}:secret:${name}-000000`;
    return { ...inputs, id: text(inputs, "arn") ?? arn, arn: text(inputs, "arn") ?? arn, name };
  },
  "aws:ssm/getParameter:getParameter": (inputs, place) => {
    const name = text(inputs, "name") ?? "";
    const arn = `arn:aws:ssm:${place.region}:${place.account}:parameter/${name.replace(/^\//, "")}`;
    return { ...inputs, id: name, arn, name, type: "SecureString", value: LOOKED_UP_SECRET, version: 1 };
  },
};

/** @throws Error where nobody has said what the provider answers */
export function answerOf(token: string, inputs: JsonObject, place: Place): JsonObject {
  const answer = ANSWERS[token];
  const given = place.answers[token];
  if (answer === undefined && given === undefined)
    throw new Error(
      `no answer is known to ${token}: add it to provider-functions.ts, or give one to the recording`,
    );
  return { ...answer?.(inputs, place), ...given };
}

function idAndArn(
  inputs: JsonObject,
  { region, account }: Place,
  kind: string,
  fallback: string,
): JsonObject {
  const id = text(inputs, "id") ?? fallback;
  return { ...inputs, id, arn: `arn:aws:ec2:${region}:${account}:${kind}/${id}` };
}

function text(inputs: JsonObject, key: string): string | undefined {
  const value = inputs[key];
  return typeof value === "string" ? value : undefined;
}

interface PolicyInputs {
  readonly statements?: readonly {
    readonly sid?: string;
    readonly effect?: string;
    readonly principals?: readonly { readonly type: string; readonly identifiers: readonly string[] }[];
    readonly actions?: readonly string[];
    readonly notActions?: readonly string[];
    readonly resources?: readonly string[];
    readonly notResources?: readonly string[];
    readonly conditions?: readonly {
      readonly test: string;
      readonly variable: string;
      readonly values: readonly string[];
    }[];
  }[];
}

/** The policy document that the provider renders from its own spelling of one. */
function policyDocument(inputs: JsonObject): object {
  const { statements = [] } = inputs as unknown as PolicyInputs;
  return {
    Version: "2012-10-17",
    Statement: statements.map((statement) => ({
      ...(statement.sid !== undefined && { Sid: statement.sid }),
      Effect: statement.effect ?? "Allow",
      ...(statement.principals !== undefined && {
        Principal: Object.fromEntries(
          statement.principals.map((one) => [one.type, oneOrMore(one.identifiers)]),
        ),
      }),
      ...(statement.actions !== undefined && { Action: oneOrMore(statement.actions) }),
      ...(statement.notActions !== undefined && { NotAction: oneOrMore(statement.notActions) }),
      ...(statement.resources !== undefined && { Resource: oneOrMore(statement.resources) }),
      ...(statement.notResources !== undefined && { NotResource: oneOrMore(statement.notResources) }),
      ...((statement.conditions ?? []).length > 0 && { Condition: conditions(statement.conditions ?? []) }),
    })),
  };
}

function conditions(list: readonly { test: string; variable: string; values: readonly string[] }[]): object {
  const byTest: Record<string, Record<string, unknown>> = {};
  for (const { test, variable, values } of list)
    byTest[test] = { ...byTest[test], [variable]: oneOrMore(values) };
  return byTest;
}

function oneOrMore(values: readonly string[]): string | readonly string[] {
  return values.length === 1 ? (values[0] ?? "") : values;
}
