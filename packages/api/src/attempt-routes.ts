import { statesOf, wire } from "@ghouls/core";
import { z } from "@hono/zod-openapi";
import { CALLBACK, defineRoute } from "./define-route.ts";
import { PAGING } from "./read-routes.ts";
import { answer, problems } from "./responses.ts";
import {
  AttemptPage,
  AttemptResolution,
  AttemptResolved,
  AttemptView,
  JobReport,
  Reported,
} from "./schemas.ts";

const params = z.object({ id: z.string() });

export const listAttempts = defineRoute({
  method: "get",
  path: "/v1/attempts",
  operationId: "listAttempts",
  summary: "List delegated jobs, newest first",
  needs: "attempts:read",
  request: {
    query: z.strictObject({
      status: z.enum(statesOf("attempt")).optional(),
      runId: z.string().min(1).max(100).optional(),
      ...PAGING,
    }),
  },
  responses: { 200: answer("One page.", AttemptPage), ...problems(401, 403, 422, 503) },
});

export const getAttempt = defineRoute({
  method: "get",
  path: "/v1/attempts/{id}",
  operationId: "getAttempt",
  summary: "Read a delegated job: what was asked of whom, and what came of it",
  needs: "attempts:read",
  request: { params },
  responses: { 200: answer("The attempt.", AttemptView), ...problems(401, 403, 404, 503) },
});

export const reportAttempt = defineRoute({
  method: "post",
  path: "/v1/attempts/{id}/callback",
  operationId: "reportAttempt",
  summary: "Report about a delegated job, by the token that came with its submission",
  needs: CALLBACK,
  request: { params, body: { required: true, content: { "application/json": { schema: JobReport } } } },
  responses: {
    200: answer("Kept. What ends the job brings its run back, and uses the token up.", Reported),
    ...problems(400, 401, 409, 413, 415, 422, 503),
  },
});

export const resolveAttempt = defineRoute({
  method: "post",
  path: "/v1/attempts/{id}/resolution",
  operationId: "resolveAttempt",
  summary: "Say how a job has ended of which nobody knows, by an operator's audited word",
  needs: "attempts:resolve",
  request: {
    params,
    body: { required: true, content: { "application/json": { schema: AttemptResolution } } },
  },
  responses: {
    200: answer("Settled; the run is brought back where it waits for it.", AttemptResolved),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
  },
});

/** Of the function that writes. */
export const JOB_ROUTES = [reportAttempt, resolveAttempt] as const;
/** Of the function that reads. */
export const ATTEMPT_ROUTES = [listAttempts, getAttempt] as const;
export const TOKEN_HEADER = wire.CALLBACK_TOKEN_HEADER;
