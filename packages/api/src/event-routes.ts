import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { answer, problems } from "./responses.ts";
import { EventPage } from "./schemas.ts";

/** The longest that a poll waits, in seconds: below what API Gateway gives an answer. */
const MAX_WAIT_SECONDS = 20;

const EventId = z
  .string()
  .max(60)
  .openapi({ description: "Id of the last batch that was received; the answer goes on behind it." });

const EventQuery = z.object({
  after: EventId.optional(),
  wait: z.coerce.number().int().min(0).max(MAX_WAIT_SECONDS).default(10).openapi({
    type: "integer",
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 10,
    description: "How many seconds a poll waits where nothing has come yet.",
  }),
});

export const getEvents = defineRoute({
  method: "get",
  path: "/v1/runs/{id}/events",
  operationId: "getEvents",
  summary: "Follow a run: server-sent events where `Accept` asks for them, else a long poll",
  needs: "runs:read",
  request: {
    params: z.object({ id: z.string() }),
    query: EventQuery,
    headers: z.object({
      "last-event-id": z
        .string()
        .max(60)
        .optional()
        .openapi({ description: "As `after`, which comes first; sent by event sources that connect again." }),
    }),
  },
  responses: {
    200: {
      description:
        "What has happened since. Each message of the stream is one batch; it ends some time, or with the run, and a " +
        "reader that connects again goes on behind the last id.",
      content: {
        ...answer("", EventPage).content,
        "text/event-stream": { schema: z.string() },
      },
    },
    204: { description: "The run has ended and all of it was told: there is no stream any more." },
    ...problems(401, 403, 404, 422, 503),
  },
});

export const EVENT_ROUTES = [getEvents] as const;
