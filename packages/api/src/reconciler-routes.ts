import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { PAGING } from "./read-routes.ts";
import { answer, problems } from "./responses.ts";
import { PassesRequest, PassesRun, ReconcilerState } from "./schemas.ts";

export const getReconciler = defineRoute({
  method: "get",
  path: "/v1/reconciler",
  operationId: "getReconciler",
  summary:
    "Read how far the passes of the reconciler have come, what stands aside, and the newest repairs, of every tenant",
  needs: "deployment:reconcile",
  request: {
    query: z.strictObject({ ...PAGING, degradedCursor: z.string().min(1).max(500).optional() }),
  },
  responses: {
    200: answer(
      "`nextCursor` goes on with the repairs, `nextDegradedCursor` with what stands aside.",
      ReconcilerState,
    ),
    ...problems(401, 403, 422, 503),
  },
});

export const runPasses = defineRoute({
  method: "post",
  path: "/v1/reconciler/passes",
  operationId: "runPasses",
  summary: "Run passes of the reconciler now, or see what they would do",
  needs: "deployment:reconcile",
  request: { body: { required: true, content: { "application/json": { schema: PassesRequest } } } },
  responses: {
    200: answer(
      "What each did. One that asks somebody else is taken by the reconciler's next invocation (`later`).",
      PassesRun,
    ),
    ...problems(400, 401, 403, 413, 415, 422, 503),
  },
});

/** Of the function that writes. */
export const RECONCILER_ROUTES = [runPasses] as const;
/** Of the function that reads. */
export const RECONCILER_READ_ROUTES = [getReconciler] as const;
