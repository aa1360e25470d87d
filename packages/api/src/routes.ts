import { ADMISSION_ROUTES } from "./admission-routes.ts";
import { ATTEMPT_ROUTES, JOB_ROUTES } from "./attempt-routes.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";
import { EVENT_ROUTES } from "./event-routes.ts";
import { INTEGRITY_READ_ROUTES, INTEGRITY_ROUTES } from "./integrity-routes.ts";
import { PAUSE_READ_ROUTES, PAUSE_ROUTES } from "./pause-routes.ts";
import { READ_ROUTES } from "./read-routes.ts";
import { RECONCILER_READ_ROUTES, RECONCILER_ROUTES } from "./reconciler-routes.ts";
import { CONSENT_ROUTES, WAIT_ROUTES } from "./wait-routes.ts";

/**
 * The routes of each application as API Gateway names them, such as "GET /v1/runs/{id}": a deployment sends each to the
 * function that has it.
 */
export const ROUTE_KEYS = {
  admission: keysOf([
    ...ADMISSION_ROUTES,
    ...CONTROL_ROUTES,
    ...PAUSE_ROUTES,
    ...INTEGRITY_ROUTES,
    ...WAIT_ROUTES,
    ...JOB_ROUTES,
    ...RECONCILER_ROUTES,
  ]),
  /** Streams them where its function may stream; beside the api function, which answers polls. */
  events: keysOf(EVENT_ROUTES),
  api: [
    ...keysOf([
      ...EVENT_ROUTES,
      ...CONSENT_ROUTES,
      ...ATTEMPT_ROUTES,
      ...PAUSE_READ_ROUTES,
      ...RECONCILER_READ_ROUTES,
      ...INTEGRITY_READ_ROUTES,
      ...READ_ROUTES,
    ]),
    "GET /openapi.json",
  ],
} as const;

function keysOf(routes: readonly { readonly method: string; readonly path: string }[]): string[] {
  return routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
}
