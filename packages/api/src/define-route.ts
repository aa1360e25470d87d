import type { Permission } from "@ghouls/core";
import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { callbackToken, permit } from "./authentication.ts";
import { jsonBody } from "./body.ts";
import type { ApiEnv } from "./context.ts";

/** The scheme that every route but the public ones asks for. */
export const BEARER_SCHEME = "bearer";
/** What a service has that reports about a job: a token for that one attempt, which the handler compares. */
export const CALLBACK = "callback";

/** Any token will do: what is answered concerns nobody but its bearer. */
export const ANY_TOKEN = "any_token";

const DESCRIBED: Readonly<Record<string, string>> = {
  [CALLBACK]:
    "Needs the token that came with the submission, in the header `Ghouls-Callback-Token`; no bearer token.",
  [ANY_TOKEN]: "Needs a token, and no permission.",
};

/** A route as it is written down: who may use it is part of it, and it does not compile without. */
interface RouteDefinition extends Omit<RouteConfig, "path" | "security" | "middleware" | "description"> {
  /** The permission that its caller needs; null for a route that is answered without a token. */
  readonly needs: Permission | typeof CALLBACK | typeof ANY_TOKEN | null;
}

/**
 * The one way to a route: what guards it and what the OpenAPI document says of that come from the same word. A route with a
 * body takes JSON, within its bounds.
 */
export function defineRoute<P extends string, R extends RouteDefinition & { path: P }>(definition: R) {
  const { needs, ...rest } = definition;
  const middleware: MiddlewareHandler<ApiEnv>[] = [
    ...guardOf(needs),
    ...(definition.request?.body === undefined ? [] : [jsonBody]),
  ];
  const described =
    needs === null ? {} : { description: DESCRIBED[needs] ?? `Needs the permission \`${needs}\`.` };
  // OpenAPI 3.1: the list of a scheme that is not OAuth's names what is required beside it.
  const security = securityOf(needs);
  // The guards set nothing that a handler's type has to know, so the route keeps the type of its definition.
  const route = createRoute({ ...rest, ...described, security, middleware } as Omit<RouteConfig, "path"> & {
    path: P;
  });
  return route as unknown as Omit<R, "needs"> & Pick<typeof route, "getRoutingPath">;
}

function guardOf(needs: RouteDefinition["needs"]): MiddlewareHandler<ApiEnv>[] {
  // That there is a token which is known is seen before any route.
  if (needs === null || needs === ANY_TOKEN) return [];
  return [needs === CALLBACK ? callbackToken : permit(needs)];
}

function securityOf(needs: RouteDefinition["needs"]): Record<string, string[]>[] {
  if (needs === null) return [];
  if (needs === CALLBACK) return [{ [CALLBACK]: [] }];
  return [{ [BEARER_SCHEME]: needs === ANY_TOKEN ? [] : [needs] }];
}
