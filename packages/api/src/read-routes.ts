import { statesOf, wire } from "@ghouls/core";
import { z } from "@hono/zod-openapi";
import { ANY_TOKEN, defineRoute } from "./define-route.ts";
import { answer, problems } from "./responses.ts";
import {
  Health,
  PinnedList,
  Readiness,
  RunCounts,
  RunEvidence,
  RunPage,
  RunView,
  Timeline,
  Whoami,
  WorkflowList,
} from "./schemas.ts";

const RUN_STATES = statesOf("run");
const DEFAULT_PAGE = 50;

/** Which page of a list. */
export const PAGING = {
  limit: z
    .string()
    .regex(/^\d{1,3}$/, `a whole number from 1 to ${wire.MAX_PAGE}`)
    .transform(Number)
    .pipe(z.int().min(1).max(wire.MAX_PAGE))
    .default(DEFAULT_PAGE)
    .openapi({ type: "integer", minimum: 1, maximum: wire.MAX_PAGE, default: DEFAULT_PAGE }),
  cursor: z.string().min(1).max(500).optional(),
};

/** "team:payments": keys have no colon. */
const LABEL = /^([a-z0-9][a-z0-9._/-]{0,62}):(\P{Cc}{0,200})$/u;
const LabelOfQuery = z
  .string()
  .regex(LABEL, 'is no label, such as "team:payments"')
  .transform((text): [string, string] => {
    const [, key = "", value = ""] = LABEL.exec(text) ?? [];
    return [key, value];
  });

/** Repeatable, or one list with commas; a strict object, so that a misspelt filter is not silently no filter. */
export const RunQuery = z.strictObject({
  status: z
    .preprocess(
      (value) => [value].flat().flatMap((item) => (typeof item === "string" ? item.split(",") : [item])),
      z.array(z.enum(RUN_STATES)).max(RUN_STATES.length),
    )
    .optional()
    .openapi({ type: "array", items: { type: "string", enum: RUN_STATES }, param: { explode: true } }),
  workflow: z
    .string()
    .regex(wire.WORKFLOW_NAME)
    .optional()
    .openapi({ description: "Only runs of the workflow with this name." }),
  label: z
    .preprocess((value) => [value].flat(), z.array(LabelOfQuery).max(16))
    .transform((pairs) => Object.fromEntries(pairs))
    .optional()
    .openapi({
      type: "array",
      items: {
        type: "string",
        pattern: "^[a-z0-9][a-z0-9._/-]{0,62}:[^\\u0000-\\u001f\\u007f-\\u009f]{0,200}$",
      },
      param: { explode: true },
      description: "Only runs with this label, such as `team:payments`; several: with all of them.",
    }),
  parentRunId: z.uuid().optional().openapi({ description: "Only children that this run has started." }),
  admittedAfter: z.iso
    .datetime()
    .optional()
    .openapi({ description: "Only runs that were asked for at this moment or later." }),
  admittedBefore: z.iso
    .datetime()
    .optional()
    .openapi({ description: "Only runs that were asked for earlier." }),
  attention: z
    .literal("true")
    .transform(() => true)
    .optional()
    .openapi({ type: "string", enum: ["true"], description: "Only runs that ask for a person." }),
  ...PAGING,
});

/** How far back runs are counted: a week at most. */
const MAX_HOURS = 168;
const CountQuery = z.strictObject({
  hours: z
    .string()
    .regex(/^\d{1,3}$/, `a whole number from 1 to ${MAX_HOURS}`)
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_HOURS))
    .default(24)
    .openapi({ type: "integer", minimum: 1, maximum: MAX_HOURS, default: 24 }),
  workflow: RunQuery.shape.workflow,
  label: RunQuery.shape.label,
});

const RunParams = z.object({ id: z.string() });

export const listRuns = defineRoute({
  method: "get",
  path: "/v1/runs",
  operationId: "listRuns",
  summary: "List runs, newest first",
  needs: "runs:read",
  request: { query: RunQuery },
  responses: { 200: answer("One page.", RunPage), ...problems(401, 403, 422, 503) },
});

export const countRuns = defineRoute({
  method: "get",
  path: "/v1/runs/counts",
  operationId: "countRuns",
  summary: "Count runs over time: when they were admitted, by their status now",
  needs: "runs:read",
  request: { query: CountQuery },
  responses: { 200: answer("The counts.", RunCounts), ...problems(401, 403, 422, 503) },
});

export const getRun = defineRoute({
  method: "get",
  path: "/v1/runs/{id}",
  operationId: "getRun",
  summary: "Read a run",
  needs: "runs:read",
  request: { params: RunParams },
  responses: { 200: answer("The run.", RunView), ...problems(401, 403, 404, 503) },
});

export const getTimeline = defineRoute({
  method: "get",
  path: "/v1/runs/{id}/timeline",
  operationId: "getTimeline",
  summary: "Read what happened to a run, in order",
  needs: "runs:read",
  request: { params: RunParams },
  responses: { 200: answer("The timeline.", Timeline), ...problems(401, 403, 404, 503) },
});

export const getEvidence = defineRoute({
  method: "get",
  path: "/v1/runs/{id}/evidence",
  operationId: "getEvidence",
  summary:
    "Read what is kept of a run: its terminal record and seal, what was rejected, and copies of its steps",
  needs: "runs:read",
  request: { params: RunParams, query: z.strictObject(PAGING) },
  responses: { 200: answer("The evidence.", RunEvidence), ...problems(401, 403, 404, 422, 503) },
});

export const listWorkflows = defineRoute({
  method: "get",
  path: "/v1/workflows",
  operationId: "listWorkflows",
  summary: "List the registered workflows",
  needs: "workflows:read",
  responses: { 200: answer("All registered versions.", WorkflowList), ...problems(401, 403) },
});

export const listPinned = defineRoute({
  method: "get",
  path: "/v1/workflows/pinned",
  operationId: "listPinned",
  summary: "List the code that runs which have not ended are pinned to: what a deploy would strand",
  needs: "workflows:read",
  responses: { 200: answer("By workflow, version and digest.", PinnedList), ...problems(401, 403, 503) },
});

export const whoami = defineRoute({
  method: "get",
  path: "/v1/whoami",
  operationId: "whoami",
  summary: "Tell whom the token speaks for, and what they may do",
  needs: ANY_TOKEN,
  responses: { 200: answer("Its bearer.", Whoami), ...problems(401) },
});

export const healthz = defineRoute({
  method: "get",
  path: "/healthz",
  operationId: "healthz",
  summary: "Whether the process answers",
  needs: null,
  responses: { 200: answer("It does.", Health), ...problems() },
});

export const readyz = defineRoute({
  method: "get",
  path: "/readyz",
  operationId: "readyz",
  summary: "Whether requests can be served",
  needs: null,
  responses: {
    200: answer("They can.", Readiness),
    503: answer("They cannot: a check failed.", Readiness),
    ...problems(),
  },
});

export const READ_ROUTES = [
  listRuns,
  countRuns,
  getRun,
  getTimeline,
  getEvidence,
  listWorkflows,
  listPinned,
  whoami,
  healthz,
  readyz,
] as const;
