import type { Graph } from "@ghouls/localstack-utils";
import type { Check } from "./check.ts";
import type { Statement } from "./policies.ts";
import { functions, roles, schedules } from "./resources.ts";

export const ownRoles: Check = (graph) =>
  functions(graph).flatMap(({ name, inputs: { role } }) => {
    if (!roles(graph).some(({ arn }) => arn === role)) return [`${name} has a role that is not made here`];
    const sharing = functions(graph).filter(({ inputs }) => inputs.role === role);
    return sharing.length === 1 ? [] : [`${name} shares its role with ${sharing.length - 1} more`];
  });

/** Who may take a role on: the service that needs it, and nobody of the account. */
export const trust: Check = (graph) =>
  roles(graph).flatMap(({ name, arn, inputs: { assumeRolePolicy } }) => {
    const service = schedules(graph).some(({ inputs }) => inputs.target.roleArn === arn)
      ? "scheduler.amazonaws.com"
      : "lambda.amazonaws.com";
    const admitted = assumeRolePolicy
      .filter(({ Effect }) => Effect === "Allow")
      .flatMap(({ Principal = {} }) =>
        Object.entries(Principal).flatMap(([kind, who]) => who.map((one) => `${kind} ${one}`)),
      );
    return admitted
      .filter((who) => who !== `Service ${service}`)
      .map((who) => `${name} may be taken on by ${who}`)
      .concat(admitted.length === 0 ? [`${name} may be taken on by nobody`] : []);
  });

/** No action is a pattern, and a resource only where the expectation says why. An allowance that nobody needs is wrong too. */
export const patterns: Check = (graph, { patterns: argued }) => {
  const used = new Set<string>();
  const found = roles(graph).flatMap((role) =>
    allowancesOf(graph, role).flatMap(({ words, actions, resources }) => {
      const problems = actions.filter(isPattern).map((action) => `${role.name} may do ${action}`);
      if (!resources.some(isPattern)) return problems;
      used.add(words);
      return Object.hasOwn(argued, words)
        ? problems
        : [...problems, `${role.name}: nobody has argued for "${words}"`];
    }),
  );
  const unused = Object.keys(argued).filter((words) => !used.has(words));
  return [...found, ...unused.map((words) => `"${words}" is argued for, and nobody has it`)];
};

/** IAM's two wildcards. */
function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}

/** What each role may do is exactly what is written down. */
export const permissions: Check = (graph, expected) => {
  const found = permissionsOf(graph);
  const components = new Set([...Object.keys(found), ...Object.keys(expected.permissions)]);
  return [...components].flatMap((component) => {
    const [has, should] = [found[component] ?? [], expected.permissions[component] ?? []];
    return [
      ...has.filter((words) => !should.includes(words)).map((words) => `${component} may: ${words}`),
      ...should.filter((words) => !has.includes(words)).map((words) => `${component} may not: ${words}`),
    ];
  });
};

/** What each role may do, in words: "sqs:SendMessage on GhoulsQueueRunsQueue". A role goes by its component's name. */
function permissionsOf(graph: Graph): Record<string, string[]> {
  return Object.fromEntries(
    roles(graph).map((role) => [
      role.name.replace(/Role$/, ""),
      allowancesOf(graph, role)
        .map(({ words }) => words)
        .toSorted(),
    ]),
  );
}

interface Allowance {
  readonly words: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

function allowancesOf(graph: Graph, { inputs }: ReturnType<typeof roles>[number]): Allowance[] {
  const inline = inputs.inlinePolicies
    .flatMap(({ policy }) => policy)
    .filter(({ Effect }) => Effect === "Allow")
    .map((statement) => allowanceOf(graph, statement));
  // What stands in a managed policy is not written down here, and AWS may change it.
  const managed = inputs.managedPolicyArns.map((arn) => {
    const name = arn.split("/").at(-1) ?? arn;
    return { words: `managed policy ${name}`, actions: [], resources: ["*"] };
  });
  return [...inline, ...managed];
}

function allowanceOf(graph: Graph, statement: Statement): Allowance {
  // All but a few is a pattern as well.
  const actions = statement.Action ?? ["*"];
  const resources = statement.Resource ?? ["*"];
  const on = resources.map((resource) => nameOf(graph, resource)).toSorted();
  const conditions = Object.entries(statement.Condition ?? {}).flatMap(([test, variables]) =>
    Object.entries(variables).map(([variable, values]) => `${test} ${variable} ${values.join(", ")}`),
  );
  const when = conditions.length === 0 ? "" : ` when ${conditions.toSorted().join(" and ")}`;
  return { words: `${actions.toSorted().join(", ")} on ${on.join(", ")}${when}`, actions, resources };
}

/** A resource of the graph by its logical name, with what follows its ARN; anything else as it is. */
function nameOf(graph: Graph, resource: string): string {
  for (const { custom, name, state } of graph.resources) {
    const arn = state["arn"];
    if (!custom || typeof arn !== "string") continue;
    if (resource === arn || resource.startsWith(`${arn}:`) || resource.startsWith(`${arn}/`))
      return name + resource.slice(arn.length);
  }
  return resource;
}

/** Other ways by which a role could come to more than its own policies say. */
export const attachments: Check = (graph) =>
  graph.resources
    .filter(({ type }) => /^aws:iam\/(rolePolicy|rolePolicyAttachment|policy|policyAttachment):/.test(type))
    .map(({ name }) => `${name} adds to a role from outside of it`);
