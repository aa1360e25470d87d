import type { Check } from "./check.ts";
import {
  apis,
  componentOf,
  functionBehind,
  functions,
  integrations,
  routes,
  schedules,
  stages,
} from "./resources.ts";

/** The longest that API Gateway waits. Source: "Quotas for HTTP APIs". */
const LONGEST_INTEGRATION = 30;

export const httpRoutes: Check = (graph, expected) => {
  const found = new Map(
    routes(graph).map(({ inputs: { routeKey, target } }) => {
      const integration = integrations(graph).find(({ id }) => `integrations/${id}` === target);
      const fn = functionBehind(graph, integration?.inputs.integrationUri ?? "");
      return [routeKey, { integration: integration?.inputs, fn }];
    }),
  );
  return [
    ...[...found].flatMap(([route, { integration, fn }]) => {
      if (integration === undefined || fn === undefined) return [`${route} leads to no function of ours`];
      const { integrationType: type, payloadFormatVersion: payload = "1.0" } = integration;
      const should = expected.routes[route];
      return [
        ...(type === "AWS_PROXY" && payload === "2.0"
          ? []
          : [`${route} comes as ${type} with payload ${payload}`]),
        ...(componentOf(fn) === should
          ? []
          : [`${route} leads to ${fn.name}, not to ${should ?? "anything"}`]),
        ...(fn.inputs.timeout < LONGEST_INTEGRATION
          ? []
          : [`${route}: ${fn.name} may take longer than API Gateway waits`]),
      ];
    }),
    ...Object.keys(expected.routes)
      .filter((route) => !found.has(route))
      .map((route) => `${route} is no route`),
  ];
};

/** A page of another origin has no business here. */
export const cors: Check = (graph) =>
  apis(graph).flatMap(({ name, inputs: { corsConfiguration } }) => {
    const { allowOrigins = [], allowHeaders = [], allowMethods = [] } = corsConfiguration ?? {};
    const open = [...allowOrigins, ...allowHeaders, ...allowMethods].some((value) => value.includes("*"));
    return open ? [`${name} lets pages of any origin in`] : [];
  });

export const throttling: Check = (graph) =>
  stages(graph)
    .filter(({ inputs: { defaultRouteSettings: settings } }) => {
      const { throttlingRateLimit: rate = 0, throttlingBurstLimit: burst = 0 } = settings ?? {};
      return rate <= 0 || burst <= 0;
    })
    .map(({ name }) => `${name} lets as many requests through as the account can take`);

/** Every minute, one at a time: the next invocation comes anyway. */
export const schedule: Check = (graph, { reconciler }) => {
  const own = schedules(graph).filter(({ inputs: { target } }) => {
    const fn = functionBehind(graph, target.arn);
    return fn !== undefined && componentOf(fn) === reconciler;
  });
  const others = schedules(graph).length - own.length;
  return [
    ...(own.length === 1 ? [] : [`${reconciler} has ${own.length} schedules`]),
    ...(others === 0 ? [] : [`${others} schedules invoke something else`]),
    ...own.flatMap(({ name, inputs: { scheduleExpression, state, target } }) => [
      ...(scheduleExpression === "rate(1 minute)" ? [] : [`${name} comes at ${scheduleExpression}`]),
      ...(state === "ENABLED" ? [] : [`${name} is ${state}`]),
      // Left out, it is 185. Source: EventBridge Scheduler, "RetryPolicy".
      ...(target.retryPolicy?.maximumRetryAttempts === 0 ? [] : [`${name} invokes again what failed`]),
    ]),
    ...functions(graph)
      .filter((fn) => componentOf(fn) === reconciler && fn.inputs.timeout >= 60)
      .map(({ name, inputs }) => `${name} may take ${inputs.timeout} s: the next one begins before`),
  ];
};
