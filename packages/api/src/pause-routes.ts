import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { answer, problems } from "./responses.ts";
import {
  PauseLifted,
  PauseList,
  PauseRequest,
  PauseSet,
  ReasonRequest,
  RunPaused,
  RunUnpaused,
} from "./schemas.ts";

const word = {
  params: z.object({ id: z.string() }),
  body: { required: true, content: { "application/json": { schema: ReasonRequest } } },
};

export const pauseRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/pause",
  operationId: "pauseRun",
  summary: "Pause a run: no worker takes it up, and whoever carries it lets go of it between two steps",
  needs: "runs:pause",
  request: word,
  responses: {
    200: answer("Paused now; where `paused` is false it was before, or is ending or has ended.", RunPaused),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const unpauseRun = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/unpause",
  operationId: "unpauseRun",
  summary: "End the pause of a run",
  needs: "runs:pause",
  request: word,
  responses: {
    200: answer("It goes on, unless something in `pauses` holds it still.", RunUnpaused),
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
});

export const setPause = defineRoute({
  method: "post",
  path: "/v1/pauses",
  operationId: "setPause",
  summary:
    "Pause your tenant or a workflow in it; or every run of the deployment, which needs the permission `deployment:pause` too",
  needs: "runs:pause",
  request: { body: { required: true, content: { "application/json": { schema: PauseRequest } } } },
  responses: {
    200: answer("Set now, or before where `created` is false: then it stays as it was.", PauseSet),
    ...problems(400, 401, 403, 413, 415, 422, 503),
  },
});

export const liftPause = defineRoute({
  method: "delete",
  path: "/v1/pauses/{id}",
  operationId: "liftPause",
  summary: "Lift a pause; one of the whole deployment needs the permission `deployment:pause` too",
  needs: "runs:pause",
  request: {
    params: z.object({ id: z.string() }),
    query: z.strictObject({
      reason: z.string().trim().min(1).max(1_000).openapi({ description: "Why; it is kept with the pause." }),
    }),
  },
  responses: {
    200: answer(
      "Lifted now, or before where `lifted` is false. What it held is published anew.",
      PauseLifted,
    ),
    ...problems(401, 403, 404, 422, 503),
  },
});

export const listPauses = defineRoute({
  method: "get",
  path: "/v1/pauses",
  operationId: "listPauses",
  summary: "List the pauses that hold your tenant's runs, beside those of single runs",
  needs: "runs:read",
  responses: { 200: answer("All that are set, the longest first.", PauseList), ...problems(401, 403, 503) },
});

/** Of the function that writes. */
export const PAUSE_ROUTES = [pauseRun, unpauseRun, setPause, liftPause] as const;
/** Of the function that reads. */
export const PAUSE_READ_ROUTES = [listPauses] as const;
