import { relative } from "node:path";
import type { DeploymentPlan } from "@ghouls/functions";
import type { EgressOptions } from "./options.ts";
import { logicalName, type Components, type Value } from "./platform.ts";
import type { Project } from "./project.ts";
import type { References } from "./references.ts";

type FunctionPlan = DeploymentPlan["functions"][number];
export type Fn = InstanceType<Components["sst"]["aws"]["Function"]>;

export interface FunctionParts {
  readonly components: Components;
  readonly project: Project;
  readonly references: References;
  readonly vpc:
    | { readonly privateSubnets: Value<string[]>; readonly securityGroups: Value<string[]> }
    | undefined;
  readonly egress: EgressOptions | undefined;
}

/** Lambda alone: the component's own trust policy lets every principal of the account in as well. */
const TRUST = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" }, Action: "sts:AssumeRole" }],
});

/** The log group of every function, made first: a role names its own. */
export function makeLogs({ aws }: Components, plan: DeploymentPlan, references: References): void {
  for (const { id, logDays } of plan.functions) {
    const log = new aws.cloudwatch.LogGroup(logicalName(`${id}-log`), {
      name: `/ghouls/${$app.name}/${$app.stage}/${id}`,
      retentionInDays: logDays,
    });
    references.set(`function.${id}.log.arn`, log.arn);
    references.set(`function.${id}.log.name`, log.name);
  }
}

/**
 * A function of the plan with a role of its own.
 * @param after what must have happened before its role and its code change
 */
export function makeFunction(
  plan: FunctionPlan,
  parts: FunctionParts,
  after: readonly $util.Resource[] = [],
): Fn {
  const {
    components: { sst },
    project,
    references,
    vpc,
  } = parts;
  const own = plan.entry === "egress" ? parts.egress : undefined;
  const environment = { ...ownVariables(own), ...references.fillAll(plan.environment) };
  const bundle = project.built.functions.find(({ entry }) => entry === plan.entry);
  if (bundle === undefined) throw new Error(`the build has no ${plan.entry}`);
  const made = new sst.aws.Function(logicalName(plan.id), {
    bundle: relative(process.cwd(), bundle.folder),
    handler: plan.handler,
    runtime: plan.runtime,
    architecture: plan.architecture,
    timeout: `${plan.timeoutSeconds} seconds`,
    memory: `${plan.memoryMb} MB`,
    environment,
    permissions: [...plannedPermissions(plan, references), ...ownPermissions(own)],
    logging: { logGroup: references.fill(`\${function.${plan.id}.log.name}`) },
    ...(plan.reserved === null ? {} : { concurrency: { reserved: plan.reserved } }),
    ...(vpc === undefined || !plan.connects ? {} : { vpc }),
    ...(plan.streams ? { streaming: true, url: { authorization: "none", cors: false } as const } : {}),
    dev: false,
    transform: {
      // What a component depends on does not reach the resources inside it.
      role: (role, options) => {
        role.assumeRolePolicy = TRUST;
        // The component's would let it write every log of the account.
        role.managedPolicyArns = [];
        // The old code goes on with the old permissions where a deploy stops.
        options.dependsOn = [...after];
      },
      // The component adds a key for links, and there are none.
      function: (args, options) => {
        args.environment = { variables: environment };
        options.dependsOn = [...after];
      },
    },
  });
  references.set(`function.${plan.id}.arn`, made.arn);
  references.set(`function.${plan.id}.name`, made.name);
  if (plan.streams) references.set(`function.${plan.id}.url`, made.url);
  return made;
}

function plannedPermissions({ statements }: FunctionPlan, references: References) {
  return statements.map(({ actions, resources, conditions }) => ({
    actions: [...actions],
    resources: resources.map((resource) => references.fill(resource)),
    ...(conditions === undefined
      ? {}
      : { conditions: conditions.map((one) => ({ ...one, values: [...one.values] })) }),
  }));
}

function ownPermissions({ permissions = [] }: EgressOptions = {}) {
  return permissions.map(({ actions, resources }) => ({
    actions: [...actions],
    resources: resources.map((resource) => resource as Value<string>),
  }));
}

/** @throws Error for a connection string: nothing that leaves from here may reach the database */
function ownVariables({ environment = {} }: EgressOptions = {}): Record<string, Value<string>> {
  const connection = Object.keys(environment).find((name) => /^(DATABASE|GHOULS)_/.test(name));
  if (connection === undefined) return environment as Record<string, Value<string>>;
  throw new Error(
    `egress.environment names ${connection}, which is not for this function: it has no way to the database.\n  Fix: give it what the services need, under names of your own.`,
  );
}
