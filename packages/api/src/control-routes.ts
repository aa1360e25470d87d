import { createRoute, z } from "@hono/zod-openapi";
import { permit } from "./authentication.ts";
import { jsonBody } from "./body.ts";
import { answer, problems, security } from "./responses.ts";
import { Cancelled, ReasonRequest, Resolved } from "./schemas.ts";

const body = { required: true, content: { "application/json": { schema: ReasonRequest } } };

export const cancelRun = createRoute({
  method: "post",
  path: "/v1/runs/{id}/cancel",
  operationId: "cancelRun",
  summary: "Cancel a run",
  security,
  middleware: [permit("runs:cancel"), jsonBody] as const,
  request: { params: z.object({ id: z.string() }), body },
  responses: {
    200: answer("Cancelled now, or decided before where `cancelled` is false.", Cancelled),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const resolveItem = createRoute({
  method: "post",
  path: "/v1/runs/{id}/items/{item}/resolution",
  operationId: "resolveItem",
  summary: "Settle a containment item by an operator's audited word",
  security,
  middleware: [permit("runs:resolve"), jsonBody] as const,
  request: { params: z.object({ id: z.string(), item: z.string() }), body },
  responses: {
    200: answer("The item is acknowledged; the run has ended where it was the last.", Resolved),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const CONTROL_ROUTES = [cancelRun, resolveItem] as const;
