import type { Check } from "./check.ts";
import {
  apis,
  componentOf,
  functionBehind,
  functionUrls,
  functions,
  invocations,
  invokePermissions,
  logGroups,
  mappings,
  queuePolicies,
  roles,
  routes,
  schedules,
  waitsFor,
} from "./resources.ts";

export const runtimes: Check = (graph) =>
  functions(graph).flatMap(({ name, inputs: { runtime = "none", architectures } }) => [
    ...(runtime === "nodejs24.x" ? [] : [`${name} runs on ${runtime}`]),
    ...(architectures.join() === "arm64" ? [] : [`${name} is built for ${architectures.join() || "x86_64"}`]),
  ]);

/** A reservation takes from every other function of the account. */
export const reservations: Check = (graph, { reserved }) =>
  functions(graph).flatMap((fn) => {
    const has = fn.inputs.reservedConcurrentExecutions;
    const expected = reserved[componentOf(fn)];
    return has === expected ? [] : [`${fn.name} reserves ${has ?? "nothing"}, not ${expected ?? "nothing"}`];
  });

export const logs: Check = (graph, { logDays }) => {
  const groups = logGroups(graph);
  return [
    ...groups
      .filter(({ inputs }) => inputs.retentionInDays !== logDays)
      .map(
        ({ name, inputs }) =>
          `${name} keeps logs for ${inputs.retentionInDays || "ever"}, not ${logDays} days`,
      ),
    ...functions(graph).flatMap(({ name, inputs: { loggingConfig } }) => {
      const own = loggingConfig?.logGroup;
      return groups.some(({ inputs }) => inputs.name === own)
        ? []
        : [`${name} logs to ${own ?? "a group that Lambda makes"}, which is kept for ever`];
    }),
  ];
};

/** Code of the others, and what they may do and are called by, changes only once both have succeeded, at each deploy. */
export const deployOrder: Check = (graph, expected) => {
  const step = (component: string) => {
    const fn = functions(graph).find((one) => componentOf(one) === component);
    const invoked = invocations(graph).filter(
      ({ inputs }) => fn !== undefined && functionBehind(graph, inputs.functionName)?.name === fn.name,
    );
    return { fn, invoked: invoked[0], count: invoked.length };
  };
  const [migrate, preflight] = [step(expected.migrate), step(expected.preflight)];
  const missing = Object.entries({ [expected.migrate]: migrate, [expected.preflight]: preflight })
    .filter(([, { count }]) => count !== 1)
    .map(([component, { count }]) => `${component} is invoked ${count} times by a deploy`);
  if (migrate.fn === undefined || migrate.invoked === undefined || preflight.invoked === undefined)
    return missing;
  const steps = [migrate.invoked, preflight.invoked];
  const builds = new Set(functions(graph).map(({ inputs }) => inputs.environment.variables["GHOULS_BUILD"]));
  const [after, first] = [preflight.invoked.resource, migrate.invoked.resource];
  return [
    ...missing,
    ...(waitsFor(graph, first, migrate.fn.resource)
      ? []
      : ["the migration may be invoked before its function is there"]),
    ...(waitsFor(graph, after, first) ? [] : ["the preflight may judge before the migration has ended"]),
    ...functions(graph)
      .filter((fn) => ![expected.migrate, expected.preflight].includes(componentOf(fn)))
      .filter(({ resource }) => !waitsFor(graph, resource, after))
      .map(({ name }) => `${name} may be switched before the preflight has passed`),
    ...servingResources(graph, [expected.migrate, expected.preflight])
      .filter(({ resource }) => !waitsFor(graph, resource, after))
      .map(({ name }) => `${name} may change before the preflight has passed`),
    ...(builds.size === 1 && !builds.has(undefined) ? [] : ["the functions are not of one build"]),
    ...steps
      .filter(({ inputs }) => !Object.values(inputs.triggers).some((trigger) => builds.has(trigger)))
      .map(({ name }) => `${name} does not happen again with the next build`),
  ];
};

/** What the functions but these work with: their roles, who may send to them, and what invokes them. */
function servingResources(graph: Parameters<Check>[0], before: readonly string[]) {
  const early = functions(graph)
    .filter((fn) => before.includes(componentOf(fn)))
    .map(({ inputs }) => inputs.role);
  return [
    ...roles(graph).filter(({ arn }) => !early.includes(arn)),
    ...queuePolicies(graph),
    ...mappings(graph),
    ...routes(graph),
    ...invokePermissions(graph),
    ...schedules(graph),
  ];
}

/**
 * Only our API calls functions by a right of their own; the scheduler and the deploy have roles for it. One streams, which the
 * API cannot: everybody may call it by its URL, and it asks for a token itself.
 */
export const callers: Check = (graph, { streams }) => [
  ...functionUrls(graph).flatMap(({ name, inputs }) => {
    const fn = functions(graph).find((one) => one.inputs.name === inputs.functionName);
    if (fn === undefined || componentOf(fn) !== streams) return [`${name} lets callers past the API`];
    const open = (inputs.cors?.allowOrigins ?? []).includes("*");
    return [
      ...(inputs.invokeMode === "RESPONSE_STREAM" ? [] : [`${name} does not stream`]),
      ...(open ? [`${name} lets pages of any origin in`] : []),
    ];
  }),
  ...(functionUrls(graph).length === 0 ? [`${streams} has no URL`] : []),
  ...invokePermissions(graph)
    .filter(({ inputs }) => !isOfUrl(graph, inputs, streams))
    .filter(({ inputs: { principal, sourceArn = "" } }) => {
      const ours = apis(graph).some(
        ({ executionArn }) => executionArn !== "" && sourceArn.startsWith(`${executionArn}/`),
      );
      return principal !== "apigateway.amazonaws.com" || !ours;
    })
    .map(({ name, inputs }) => `${name} lets ${inputs.principal} in from ${inputs.sourceArn ?? "anywhere"}`),
];

/** Whether it lets callers in by the URL of the function that streams, and by nothing else. */
function isOfUrl(
  graph: Parameters<Check>[0],
  permission: ReturnType<typeof invokePermissions>[number]["inputs"],
  streams: string,
): boolean {
  const fn = functions(graph).find((one) => one.inputs.name === permission.function);
  const byUrl =
    permission.action === "lambda:InvokeFunctionUrl" ||
    (permission.action === "lambda:InvokeFunction" && permission.invokedViaFunctionUrl === true);
  return fn !== undefined && componentOf(fn) === streams && byUrl;
}
