import type { Graph } from "@ghouls/localstack-utils";
import type { Check } from "./check.ts";
import { apis, componentOf, functions, roles, waitsFor } from "./resources.ts";

type Fn = ReturnType<typeof functions>[number];

/** Actions by which the database, the queues and the table are reached. */
const INWARD = /^(rds|rds-db|sqs|dynamodb|ec2):/;
/** Variables that say where they are. */
const PLACES = /^(DATABASE_|EVENTS_TABLE$|GHOULS_QUEUE_|GHOULS_MIGRATION_|PG|NEON_)/;

/** Whatever a service answers, or a request is made to ask, leads nowhere from there. */
export const isolation: Check = (graph, { egress }) => {
  if (egress === undefined) return [];
  const fn = functionNamed(graph, egress.function);
  if (fn === undefined) return [`${egress.function} is not there`];
  const { variables } = fn.inputs.environment;
  const secrets = databaseSecrets(graph);
  return [
    ...Object.keys(variables)
      .filter((name) => PLACES.test(name))
      .map((name) => `${fn.name} has ${name}`),
    ...Object.entries(variables)
      .filter(([, value]) => secrets.has(value))
      .map(([name]) => `${fn.name} has the address of a database secret in ${name}`),
    ...allowed(graph, fn).flatMap(({ actions, resources }) => [
      ...actions.filter((action) => INWARD.test(action)).map((action) => `${fn.name} may ${action}`),
      ...resources.filter((one) => secrets.has(one)).map((one) => `${fn.name} may use ${one}`),
    ]),
  ];
};

/** Who may let a question leave, knows where to, where a service reports to, and has its new code only after the egress. */
export const asking: Check = (graph, { egress }) => {
  const fn = egress === undefined ? undefined : functionNamed(graph, egress.function);
  const wanted = egress?.asking ?? [];
  return functions(graph).flatMap((one) => {
    const { variables } = one.inputs.environment;
    const may = allowed(graph, one).some(
      ({ actions, resources }) =>
        actions.some((action) => action.startsWith("lambda:")) && resources.some((arn) => arn === fn?.arn),
    );
    const { GHOULS_EGRESS_FUNCTION: to, GHOULS_PUBLIC_URL: url } = variables;
    if (!wanted.includes(componentOf(one))) {
      const has = may || to !== undefined || url !== undefined;
      return has ? [`${one.name} may ask services, and has nothing to ask`] : [];
    }
    const [api] = apis(graph);
    return [
      ...(may ? [] : [`${one.name} may not ask services`]),
      ...(to === fn?.arn ? [] : [`${one.name} asks services by ${to ?? "itself"}`]),
      ...(url !== undefined && url === api?.resource.state["apiEndpoint"]
        ? []
        : [`${one.name} lets services report to ${url ?? "nobody"}`]),
      ...(fn !== undefined && waitsFor(graph, one.resource, fn.resource)
        ? []
        : [`${one.name} may be switched before the egress function`]),
    ];
  });
};

function functionNamed(graph: Graph, component: string): Fn | undefined {
  return functions(graph).find((one) => componentOf(one) === component);
}

/** What every function's variables say of where connection strings are. */
function databaseSecrets(graph: Graph): Set<string> {
  const held = functions(graph).flatMap(({ inputs }) =>
    Object.entries(inputs.environment.variables)
      .filter(([name]) => /DATABASE_(SECRET_ARN|URL)$/.test(name))
      .map(([, value]) => value),
  );
  return new Set(held);
}

function allowed(graph: Graph, { inputs }: Fn): { actions: string[]; resources: string[] }[] {
  return roles(graph)
    .filter(({ arn }) => arn === inputs.role)
    .flatMap(({ inputs: { inlinePolicies } }) => inlinePolicies.flatMap(({ policy }) => policy))
    .filter(({ Effect }) => Effect === "Allow")
    .map(({ Action = ["*"], Resource = ["*"] }) => ({ actions: Action, resources: Resource }));
}
