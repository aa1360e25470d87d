import { randomUUID } from "node:crypto";
import { GhoulsError, describeFailure, type wire, errorInLog } from "@ghouls/core";
import {
  createAdmissionApp,
  createApiApp,
  createEventsApp,
  createHttpApp,
  type FetchHandler,
} from "@ghouls/api";
import {
  createAdmission,
  createAttempts,
  createConsents,
  createControl,
  createEvents,
  createIntegrity,
  createPauses,
  createReads,
  createReconcilerService,
  createSignals,
  type ReadinessCheck,
} from "@ghouls/engine";
import { LedgerError } from "@ghouls/ledger";
import { handle, streamHandle, type LambdaContext as HonoContext, type LambdaEvent } from "hono/aws-lambda";
import type { Config } from "../config.ts";
import { drainSignal } from "./draining.ts";
import type { LambdaContext } from "./lambda.ts";
import { schemaOf } from "../digest/digest.ts";
import { jsonLogger, writeToStdout } from "../logger.ts";
import { once, openRuntime, type Runtime, type RuntimeOverrides } from "../runtime.ts";

/** What Lambda calls where it streams is made by `awslambda.streamifyResponse`, and nobody else's to call. */
type StreamHandler = HttpHandler | ((...parts: never) => Promise<unknown>);

/** A stream that API Gateway gathers before it answers, in milliseconds: a long poll in another form. */
const BUFFERED_STREAM_MS = 15_000;
/** A stream of a server, in milliseconds: whoever reads it connects again, and is not told apart from one who comes new. */
const SERVER_STREAM_MS = 600_000;
/** What a stream leaves of its invocation, in milliseconds. */
const STREAM_MARGIN_MS = 5_000;

type HttpHandler = (event: LambdaEvent, context?: HonoContext) => Promise<unknown>;

/** The admission function behind API Gateway: the routes that commit. */
export function createAdmissionHandler(config: Config, overrides: RuntimeOverrides = {}): HttpHandler {
  return onLambda(fetchOf(config, overrides, (runtime) => createAdmissionApp(admissionParts(runtime))));
}

/** The api function behind API Gateway: the routes that read. */
export function createApiHandler(config: Config, overrides: RuntimeOverrides = {}): HttpHandler {
  return onLambda(
    fetchOf(config, overrides, (runtime) => createApiApp(readParts(runtime, BUFFERED_STREAM_MS))),
  );
}

/**
 * The events function behind its own URL, which streams (invoke mode RESPONSE_STREAM): the route that follows a run. A stream
 * ends before the invocation does, and its reader connects again.
 */
export function createEventsHandler(config: Config, overrides: RuntimeOverrides = {}): StreamHandler {
  // Where the runtime does not stream, it gathers. Other libraries make the object where it is not there.
  const { awslambda } = globalThis as { readonly awslambda?: { readonly streamifyResponse?: unknown } };
  if (typeof awslambda?.streamifyResponse !== "function") {
    const parts = (runtime: Runtime) => ({
      ...edgeOf(runtime),
      ...eventParts(runtime, () => BUFFERED_STREAM_MS),
    });
    return onLambda(fetchOf(config, overrides, (runtime) => createEventsApp(parts(runtime))));
  }
  // An environment has one invocation at a time.
  let remainingMs = () => 0;
  const fetchHandler = fetchOf(config, overrides, (runtime) =>
    createEventsApp({
      ...edgeOf(runtime),
      ...eventParts(runtime, () => Math.max(0, remainingMs() - STREAM_MARGIN_MS)),
    }),
  );
  const streamed = streamHandle({
    fetch: (request: Request, { context }: { readonly context: LambdaContext }) => {
      remainingMs = () => context.getRemainingTimeInMillis();
      return fetchHandler(request);
    },
  } as unknown as Parameters<typeof streamHandle>[0]);
  return streamed as unknown as StreamHandler;
}

/** Both as one fetch handler, for a server. */
export function createFetch(config: Config, overrides: RuntimeOverrides = {}): FetchHandler {
  return fetchOf(config, overrides, (runtime) =>
    createHttpApp({
      ...admissionParts(runtime),
      ...readParts(runtime, SERVER_STREAM_MS),
      ...(overrides.draining === undefined ? {} : { draining: overrides.draining }),
    }),
  );
}

function fetchOf(
  config: Config,
  overrides: RuntimeOverrides,
  make: (runtime: Runtime) => FetchHandler,
): FetchHandler {
  let app: FetchHandler | undefined;
  const runtime = once(() => openRuntime(config, overrides));
  return async (request) => {
    if (app === undefined) {
      try {
        app = make(await runtime());
      } catch (error) {
        return notStarted(error, overrides);
      }
    }
    return app(request);
  };
}

/** The answer of a function that could not start: the reason is for its log, not for whoever asked. */
function notStarted(error: unknown, overrides: RuntimeOverrides): Response {
  const requestId = randomUUID();
  const log = jsonLogger(overrides.write ?? writeToStdout, () => new Date().toISOString());
  const { name, message } = describeFailure(error);
  const fix = error instanceof GhoulsError ? error.fix : undefined;
  log.error("the function could not start", { requestId, name, reason: message, fix });
  const problem: wire.Problem = {
    type: "urn:ghouls:problem:not_started",
    title: "Not started",
    status: 503,
    detail: "The function could not start. Its log names the reason under this request id.",
    fix: "Correct the function's configuration; then send the request again.",
    requestId,
  };
  const headers = {
    "content-type": "application/problem+json",
    "retry-after": "5",
    "x-request-id": requestId,
  };
  return new Response(JSON.stringify(problem), { status: 503, headers });
}

function onLambda(fetchHandler: FetchHandler): HttpHandler {
  return handle({ fetch: (request: Request) => fetchHandler(request) } as Parameters<typeof handle>[0]);
}

function edgeOf(runtime: Runtime) {
  return { authenticate: runtime.authenticate, requestId: () => randomUUID(), log: runtime.log };
}

function admissionParts(runtime: Runtime) {
  return {
    ...edgeOf(runtime),
    admission: admissionOf(runtime),
    control: createControl(runtime),
    pauses: createPauses(runtime),
    integrity: createIntegrity(runtime),
    consents: createConsents(runtime),
    signals: createSignals(runtime),
    attempts: createAttempts(runtime),
    reconciler: reconcilerOf(runtime),
  };
}

/** What one answer of these functions may take, in milliseconds, and what a page may take of that. */
const ANSWER_MS = 20_000;
const PAGE_BUDGET_MS = 2_000;

function reconcilerOf(runtime: Runtime) {
  const { decisionSources } = runtime.config;
  return createReconcilerService({
    ...runtime,
    decisionSources,
    pageSize: 100,
    pageBudgetMs: PAGE_BUDGET_MS,
    answerMs: ANSWER_MS,
  });
}

export function admissionOf(runtime: Runtime) {
  const { ledger, queue, registry, announce, codec, ids, faults, log, config, open } = runtime;
  return createAdmission({
    ledger,
    queue,
    registry,
    announce,
    codec,
    ids,
    faults,
    log,
    ...(open === undefined ? {} : { open }),
    route: config.route,
    queues: Object.keys(config.queues),
  });
}

function readParts(runtime: Runtime, streamMs: number) {
  return {
    ...edgeOf(runtime),
    ...eventParts(runtime, () => streamMs),
    reads: createReads(runtime),
    pauses: createPauses(runtime),
    integrity: createIntegrity(runtime),
    consents: createConsents(runtime),
    attempts: createAttempts(runtime),
    reconciler: reconcilerOf(runtime),
    workflows: () => workflowsOf(runtime),
    readiness: () => readinessOf(runtime),
  };
}

function eventParts(runtime: Runtime, streamMs: () => number) {
  const { ledger, codec, events: store, clock, log } = runtime;
  return {
    events: createEvents({ ledger, codec, store, clock, log }),
    streamMs,
    draining: drainSignal(),
    clock,
  };
}

function workflowsOf({ registry }: Runtime): wire.WorkflowList {
  return {
    workflows: registry.all().map(({ definition, digest }) => ({
      name: definition.name,
      version: definition.version,
      digest,
      queue: definition.queue ?? "runs",
      onWorkerLoss: definition.onWorkerLoss,
      inputSchema: schemaOf(definition.input),
      outputSchema: definition.output === undefined ? null : schemaOf(definition.output),
    })),
  };
}

async function readinessOf({ ledger, log }: Runtime): Promise<ReadinessCheck[]> {
  try {
    const { applied, known } = await ledger.schemaVersion();
    const checks = [
      { name: "ledger", ok: true, detail: "PostgreSQL answers" },
      {
        name: "schema",
        ok: applied >= known,
        detail: `migration ${applied} is applied, this code needs ${known}`,
      },
    ];
    // An older schema may lack the table.
    return applied < known ? checks : [...checks, await integrityOf(ledger, log)];
  } catch (error) {
    // Whoever asks needs no token, so the driver's words go to the log only.
    log.warn("the ledger is not ready", { error: errorInLog(error) });
    if (error instanceof LedgerError && error.kind === "schema") {
      return [{ name: "schema", ok: false, detail: "the ledger's schema is missing" }];
    }
    return [{ name: "ledger", ok: false, detail: "PostgreSQL does not answer" }];
  }
}

/** What judgements have left: it judges nothing, and whoever asks needs no token, so it only counts. */
async function integrityOf(ledger: Runtime["ledger"], log: Runtime["log"]): Promise<ReadinessCheck> {
  try {
    const faults = await ledger.integrity.unacknowledged();
    const many = faults === 1 ? "1 fault stands that nobody has" : `${faults} faults stand that nobody has`;
    return {
      name: "integrity",
      ok: faults === 0,
      detail: faults === 0 ? "no fault stands unacknowledged" : `${many} acknowledged`,
    };
  } catch (error) {
    log.warn("the faults of the ledger could not be read", { error: describeFailure(error).message });
    return { name: "integrity", ok: false, detail: "the faults that were found could not be read" };
  }
}
