import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { PAGING } from "./read-routes.ts";
import { answer, problems } from "./responses.ts";
import { FaultAcknowledged, FaultPage, ReasonRequest } from "./schemas.ts";

export const listFaults = defineRoute({
  method: "get",
  path: "/v1/integrity",
  operationId: "listFaults",
  summary:
    "List what judgements of the ledger have found, the open faults first; those of the deployment need the permission `deployment:integrity` too",
  needs: "runs:read",
  request: {
    query: z.strictObject({
      open: z
        .literal("true")
        .transform(() => true)
        .optional()
        .openapi({
          type: "string",
          enum: ["true"],
          description: "Only those that stand and nobody has acknowledged.",
        }),
      ...PAGING,
    }),
  },
  responses: { 200: answer("One page.", FaultPage), ...problems(401, 403, 422, 503) },
});

export const acknowledgeFault = defineRoute({
  method: "post",
  path: "/v1/integrity/{id}/acknowledgement",
  operationId: "acknowledgeFault",
  summary:
    "Say that a fault is known, and why it may stand; one of the deployment needs the permission `deployment:integrity` too",
  needs: "integrity:acknowledge",
  request: {
    params: z.object({ id: z.string() }),
    body: { required: true, content: { "application/json": { schema: ReasonRequest } } },
  },
  responses: {
    200: answer(
      "Acknowledged now; where `acknowledged` is false somebody was first, or it is gone.",
      FaultAcknowledged,
    ),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

/** Of the function that writes. */
export const INTEGRITY_ROUTES = [acknowledgeFault] as const;
/** Of the function that reads. */
export const INTEGRITY_READ_ROUTES = [listFaults] as const;
