import { wire } from "@ghouls/core";
import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { answer, problems } from "./responses.ts";
import {
  Admitted,
  BatchAdmitted,
  BatchRequest,
  ReasonRequest,
  Redriven,
  Released,
  RunRequest,
} from "./schemas.ts";

export const submitRun = defineRoute({
  method: "post",
  path: "/v1/runs",
  operationId: "submitRun",
  summary: "Admit a run",
  needs: "runs:submit",
  request: {
    headers: z.object({ "idempotency-key": wire.IdempotencyKey.optional() }),
    body: { required: true, content: { "application/json": { schema: RunRequest } } },
  },
  responses: {
    202: answer("The run is committed; it was there before where `created` is false.", Admitted),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
  },
});

export const submitBatch = defineRoute({
  method: "post",
  path: "/v1/runs/batch",
  operationId: "submitBatch",
  summary: "Admit many runs in one commit",
  needs: "runs:submit",
  request: {
    headers: z.object({
      "idempotency-key": z
        .undefined("a batch has a key for each member: give it as idempotencyKey")
        .optional()
        .openapi({ type: "string", description: "Refused: each member has its own idempotencyKey." }),
    }),
    body: { required: true, content: { "application/json": { schema: BatchRequest } } },
  },
  responses: {
    202: answer("One outcome for each member, in their order.", BatchAdmitted),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const releaseRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/release",
  operationId: "releaseRun",
  summary: "Release a held run",
  needs: "runs:release",
  request: { params: z.object({ id: z.string() }) },
  responses: {
    200: answer("Released now, or before where `released` is false.", Released),
    ...problems(401, 403, 404, 409, 503),
  },
});

export const redriveRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/redrive",
  operationId: "redriveRun",
  summary: "Take the work of a failed or cancelled run up again in a new one",
  needs: "runs:redrive",
  request: {
    params: z.object({ id: z.string() }),
    body: { required: true, content: { "application/json": { schema: ReasonRequest } } },
  },
  responses: {
    202: answer(
      "The new run is committed, with the results up to the call that failed; it was there before where `created` is false.",
      Redriven,
    ),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
  },
});

export const ADMISSION_ROUTES = [submitRun, submitBatch, releaseRun, redriveRun] as const;
