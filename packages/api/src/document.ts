import { OpenAPIHono } from "@hono/zod-openapi";
import { ADMISSION_ROUTES } from "./admission-routes.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";
import { ATTEMPT_ROUTES, JOB_ROUTES, TOKEN_HEADER } from "./attempt-routes.ts";
import { BEARER_SCHEME, CALLBACK } from "./define-route.ts";
import { EVENT_ROUTES } from "./event-routes.ts";
import { INTEGRITY_READ_ROUTES, INTEGRITY_ROUTES } from "./integrity-routes.ts";
import { PAUSE_READ_ROUTES, PAUSE_ROUTES } from "./pause-routes.ts";
import { READ_ROUTES } from "./read-routes.ts";
import { RECONCILER_READ_ROUTES, RECONCILER_ROUTES } from "./reconciler-routes.ts";
import { CONSENT_ROUTES, WAIT_ROUTES } from "./wait-routes.ts";

/** The OpenAPI 3.1 document of both applications together, whichever of them answers. */
export function openApiDocument(): ReturnType<OpenAPIHono["getOpenAPI31Document"]> {
  const { openAPIRegistry: registry, getOpenAPI31Document } = new OpenAPIHono();
  registry.registerComponent("securitySchemes", BEARER_SCHEME, {
    type: "http",
    scheme: "bearer",
    description:
      "An API key of the ledger (`ghouls keys create`), or a token of the identity provider that the configuration names. " +
      "What stands beside it at a route is the permission that the token must have.",
  });
  registry.registerComponent("securitySchemes", CALLBACK, {
    type: "apiKey",
    in: "header",
    name: TOKEN_HEADER,
    description:
      "The token that a delegated job's submission carried: for that one attempt, and for one end of it.",
  });
  for (const route of [
    ...ADMISSION_ROUTES,
    ...CONTROL_ROUTES,
    ...PAUSE_ROUTES,
    ...INTEGRITY_ROUTES,
    ...WAIT_ROUTES,
    ...JOB_ROUTES,
    ...RECONCILER_ROUTES,
    ...CONSENT_ROUTES,
    ...ATTEMPT_ROUTES,
    ...PAUSE_READ_ROUTES,
    ...RECONCILER_READ_ROUTES,
    ...INTEGRITY_READ_ROUTES,
    ...READ_ROUTES,
    ...EVENT_ROUTES,
  ]) {
    // The registry copies every field that it does not know into the document.
    const { middleware: _middleware, ...documented } = route as typeof route & { middleware?: unknown };
    registry.registerPath(documented);
  }
  return getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Ghouls",
      version: "1",
      description: "Durable runs. Errors are RFC 9457 problems; `type` is stable.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "/" }],
  });
}
