import {
  DEFAULT_QUEUE,
  GhoulsError,
  MAX_VALUE_BYTES,
  durationMs,
  isDuration,
  sha256,
  type Codec,
  type Ids,
  type Issue,
  type Principal,
  type RegisteredWorkflow,
} from "@ghouls/core";
import type { NewRun } from "@ghouls/ledger";
import type { Registry } from "../registry.ts";
import type { AdmissionRequest } from "../services.ts";

/** What the configuration's `route` is asked about: a request that names no workflow. */
export interface RouteRequest {
  readonly input: unknown;
  readonly agent?: string;
}

export interface RouteAnswer {
  readonly workflow: string;
  readonly queue?: string;
  readonly priority?: number;
}

export type Route = (request: RouteRequest) => RouteAnswer | undefined;

export interface ValidationOptions {
  readonly registry: Registry;
  readonly route: Route | undefined;
  readonly queues: readonly string[];
  readonly codec: Codec;
  readonly ids: Ids;
}

const DEFAULT_PRIORITY = 5;
const DEFAULT_HOLD = "1h";

/** Chooses workflow, queue and priority, checks the input, and makes the row to be committed. */
export async function prepare(
  options: ValidationOptions,
  principal: Principal,
  asked: AdmissionRequest,
): Promise<NewRun> {
  const { request } = asked;
  const bytes = Buffer.byteLength(asked.inputText);
  if (bytes > MAX_VALUE_BYTES) {
    throw new GhoulsError(
      "too_large",
      `the input is ${bytes} bytes of JSON, the limit is ${MAX_VALUE_BYTES}`,
      {
        fix: "Keep the material elsewhere and send a reference.",
      },
    );
  }
  if (request.holdFor !== undefined && request.held !== true) {
    throw new GhoulsError("invalid_request", "holdFor is for a run that is held", {
      issues: [{ path: "/holdFor", message: "needs held: true" }],
      fix: "Add held: true, or leave holdFor out.",
    });
  }
  const input: unknown = JSON.parse(asked.inputText);
  const routed =
    request.workflow === undefined
      ? routeOf(options.route, { input, ...(request.agent === undefined ? {} : { agent: request.agent }) })
      : undefined;
  const workflow = options.registry.choose(
    request.workflow ?? (routed as RouteAnswer).workflow,
    request.version,
  );
  await checkInput(workflow, input);

  const runId = options.ids.next();
  const stored = await options.codec.encode(asked.inputText, {
    tenantId: principal.tenantId,
    runId,
    kind: "input",
  });
  return {
    tenantId: principal.tenantId,
    runId,
    idempotencyKey: asked.idempotencyKey ?? null,
    requestDigest: await requestDigest(options.codec, asked.canonicalRequest),
    workflow: {
      name: workflow.definition.name,
      version: workflow.definition.version,
      digest: workflow.digest,
    },
    queue: queueOf(
      options.queues,
      request.queue ?? routed?.queue ?? workflow.definition.queue ?? DEFAULT_QUEUE,
    ),
    priority: priorityOf(request.priority ?? routed?.priority ?? DEFAULT_PRIORITY),
    agent: request.agent ?? null,
    ...(request.labels === undefined ? {} : { labels: request.labels }),
    requestedBy: principal.subject,
    requestedRoles: principal.roles,
    inputText: stored,
    inputDigest: sha256(stored),
    deadlineMs: workflow.definition.deadlineMs ?? null,
    onWorkerLoss: workflow.definition.onWorkerLoss,
    held: request.held ?? false,
    holdMs: durationMs(request.holdFor ?? DEFAULT_HOLD),
    startAfter: startAfterOf(request.startAfter),
  };
}

function startAfterOf(text: string | undefined): NewRun["startAfter"] {
  if (text === undefined) return null;
  return isDuration(text) ? { ms: durationMs(text) } : { at: new Date(text) };
}

/** Decides "same request"; keyed where the codec holds a key. */
export async function requestDigest(codec: Codec, canonicalRequest: string): Promise<string> {
  return codec.digest?.(canonicalRequest) ?? sha256(canonicalRequest);
}

function routeOf(route: Route | undefined, request: RouteRequest): RouteAnswer {
  let answer: RouteAnswer | undefined;
  try {
    answer = route?.(request);
  } catch {
    // The route is user code over what a client sent: its words are nobody's answer.
    throw new GhoulsError(
      "invalid_request",
      "the route of the configuration could not choose a workflow for this request",
      {
        fix: "Name a workflow in the request.",
      },
    );
  }
  if (answer === undefined) {
    throw new GhoulsError("invalid_request", "the request names no workflow and the route chose none", {
      issues: [{ path: "/workflow", message: "is missing" }],
      fix: "Name a workflow, or let `route` in the configuration choose one.",
    });
  }
  return answer;
}

function queueOf(queues: readonly string[], queue: string): string {
  if (!queues.includes(queue)) {
    throw new GhoulsError("unknown_queue", `there is no queue "${queue}"`, {
      fix: `Configured are: ${queues.join(", ")}.`,
    });
  }
  return queue;
}

function priorityOf(priority: number): number {
  if (!Number.isInteger(priority) || priority < 0 || priority > 9) {
    throw new GhoulsError("invalid_request", `a priority of ${priority} is not taken`, {
      issues: [{ path: "/priority", message: "must be a whole number from 0 to 9" }],
      fix: "Give a whole number from 0 to 9; 9 goes first.",
    });
  }
  return priority;
}

async function checkInput(workflow: RegisteredWorkflow, input: unknown): Promise<void> {
  const issues = await issuesOf(workflow, input);
  if (issues.length === 0) return;
  throw new GhoulsError("input_invalid", `the input does not fit workflow "${workflow.definition.name}"`, {
    issues,
    fix: "Send an input of the workflow's schema; GET /v1/workflows shows it.",
  });
}

async function issuesOf(workflow: RegisteredWorkflow, input: unknown): Promise<Issue[]> {
  try {
    const parsed = await workflow.definition.input.safeParseAsync(input);
    if (parsed.success) return [];
    return parsed.error.issues.slice(0, 50).map((issue) => ({
      path: ["", "input", ...issue.path.map(String)].join("/"),
      message: issue.message.slice(0, 500),
    }));
  } catch {
    // What a schema throws is user code's, and may hold anything.
    return [{ path: "/input", message: "the workflow's schema failed on this input" }];
  }
}
