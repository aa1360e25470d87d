import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { answer, problems } from "./responses.ts";
import {
  CancelledMatching,
  CancelMatchingRequest,
  Cancelled,
  Cleared,
  ReasonRequest,
  Resolved,
} from "./schemas.ts";

const body = { required: true, content: { "application/json": { schema: ReasonRequest } } };

export const cancelRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/cancel",
  operationId: "cancelRun",
  summary: "Cancel a run",
  needs: "runs:cancel",
  request: { params: z.object({ id: z.string() }), body },
  responses: {
    200: answer("Cancelled now, or decided before where `cancelled` is false.", Cancelled),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const resolveItem = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/items/{item}/resolution",
  operationId: "resolveItem",
  summary: "Settle a containment item by an operator's audited word",
  needs: "runs:resolve",
  request: { params: z.object({ id: z.string(), item: z.string() }), body },
  responses: {
    200: answer("The item is acknowledged; the run has ended where it was the last.", Resolved),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const clearRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/clear",
  operationId: "clearRun",
  summary: "End a run's quarantine with a reason",
  needs: "runs:clear",
  request: { params: z.object({ id: z.string() }), body },
  responses: {
    200: answer(
      "Cleared: what arrived meanwhile brings it back, or the probes and undos of its ending are tried again. `cleared` is false where it is not quarantined, and nothing of its ending was tried in vain.",
      Cleared,
    ),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const cancelRuns = defineRoute({
  method: "post",
  path: "/v1/runs/cancel",
  operationId: "cancelRuns",
  summary: "Cancel the runs that a filter means, a page at a time",
  needs: "runs:cancel",
  request: { body: { required: true, content: { "application/json": { schema: CancelMatchingRequest } } } },
  responses: {
    200: answer("What became of each; `nextCursor` goes on with the next page.", CancelledMatching),
    ...problems(400, 401, 403, 413, 415, 422, 503),
  },
});

export const CONTROL_ROUTES = [cancelRuns, cancelRun, resolveItem, clearRun] as const;
