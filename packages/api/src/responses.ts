import type { z } from "@hono/zod-openapi";
import { Problem } from "./schemas.ts";

const MEANINGS = {
  400: "The body is no JSON document.",
  401: "No token, or one that is not known, has expired or was revoked: which of them is not told.",
  403: "The token does not have the permission that the route needs; `detail` names it.",
  404: "Absent, another tenant's, or no valid id.",
  409: "The request contradicts what was committed before.",
  413: "The body or a value is too large.",
  415: "The body is not application/json.",
  422: "The request does not have the right form; `errors` has the paths.",
  429: "Too many wait already; ask again after Retry-After.",
  500: "Internal error.",
  503: "Not now; ask again after Retry-After, with the same Idempotency-Key.",
} as const;

/** A JSON answer of a route. */
export function answer<S extends z.ZodType>(description: string, schema: S) {
  return { description, content: { "application/json": { schema } } };
}

/** The problem answers of a route, for the document. The answers themselves are made where errors are caught. */
export function problems(...statuses: readonly (keyof typeof MEANINGS)[]) {
  return Object.fromEntries(
    [...statuses, 500 as const].map((status) => [
      status,
      { description: MEANINGS[status], content: { "application/problem+json": { schema: Problem } } },
    ]),
  ) as Record<never, never>;
}
