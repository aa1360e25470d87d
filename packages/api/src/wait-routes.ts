import { statesOf, wire } from "@ghouls/core";
import { z } from "@hono/zod-openapi";
import { defineRoute } from "./define-route.ts";
import { PAGING } from "./read-routes.ts";
import { answer, problems } from "./responses.ts";
import { ConsentPage, ConsentView, Decided, DecisionRequest, SignalRequest, Signalled } from "./schemas.ts";

const CONSENT_STATES = statesOf("consent");

export const listConsents = defineRoute({
  method: "get",
  path: "/v1/consents",
  operationId: "listConsents",
  summary: "List consents, newest first",
  needs: "consents:read",
  request: {
    query: z.strictObject({
      status: z.enum(CONSENT_STATES).optional(),
      runId: z.string().min(1).max(100).optional(),
      mine: z
        .literal("true")
        .transform(() => true)
        .optional()
        .openapi({
          type: "string",
          enum: ["true"],
          description:
            "Only those that wait for the token's own word: it may decide them and has not. With no other filter.",
        }),
      ...PAGING,
    }),
  },
  responses: { 200: answer("One page.", ConsentPage), ...problems(401, 403, 422, 503) },
});

export const getConsent = defineRoute({
  method: "get",
  path: "/v1/consents/{id}",
  operationId: "getConsent",
  summary: "Read a consent: the frozen request, its digest, and who has decided",
  needs: "consents:read",
  request: { params: z.object({ id: z.string() }) },
  responses: { 200: answer("The consent.", ConsentView), ...problems(401, 403, 404, 503) },
});

export const decideConsent = defineRoute({
  method: "post",
  path: "/v1/consents/{id}/decision",
  operationId: "decideConsent",
  summary: "Grant or deny a consent, naming the digest of the request that was shown",
  needs: "consents:decide",
  request: {
    params: z.object({ id: z.string() }),
    body: { required: true, content: { "application/json": { schema: DecisionRequest } } },
  },
  responses: {
    200: answer("The word is kept; the run is brought back where it was the last that it needed.", Decided),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
  },
});

export const sendSignal = defineRoute({
  method: "post",
  path: "/v1/runs/{id}/signals/{name}",
  operationId: "sendSignal",
  summary: "Send a signal to a run; one that comes early is kept until the run waits for it",
  needs: "signals:send",
  request: {
    params: z.object({
      id: z.string(),
      name: z.string().regex(wire.SIGNAL_NAME, wire.SIGNAL_NAME_RULE),
    }),
    headers: z.object({ "idempotency-key": wire.IdempotencyKey.optional() }),
    body: { required: true, content: { "application/json": { schema: SignalRequest } } },
  },
  responses: {
    200: answer("Kept, and taken at once where the run waits for it.", Signalled),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
  },
});

/** Of the function that writes. */
export const WAIT_ROUTES = [decideConsent, sendSignal] as const;
/** Of the function that reads. */
export const CONSENT_ROUTES = [listConsents, getConsent] as const;
