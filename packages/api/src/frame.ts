import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { GhoulsError } from "@ghouls/core";
import { inSpan } from "@ghouls/engine";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { authentication } from "./authentication.ts";
import type { ApiEnv, EdgeDependencies, FetchHandler } from "./context.ts";
import { EdgeError, nameOf, problemOf } from "./problems.ts";
import { refuseInvalid } from "./validation.ts";

export type Application = OpenAPIHono<ApiEnv>;

/** An id that is safe to repeat in a header, a log line and a problem. */
const SANE_REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:=;-]{0,127}$/;

/**
 * A fetch handler of the routes that `mount` adds, inside what is the same for all of them: request ids, security
 * headers, problems, authentication by default, 404 and 405. It never rejects.
 */
export function createFrame(dependencies: EdgeDependencies, mount: (app: Application) => void): FetchHandler {
  const app: Application = new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      refuseInvalid(result);
    },
  });
  const answerProblem = problemAnswer(dependencies);
  app.use("*", envelope(dependencies, answerProblem));
  app.use("*", authentication(dependencies.authenticate));
  app.onError((error, context) => answerProblem(context, error));
  app.notFound((context) =>
    answerProblem(
      context,
      new GhoulsError("not_found", "There is no such route.", { fix: "GET /openapi.json lists the routes." }),
    ),
  );
  mount(app);
  refuseOtherMethods(app);
  return async (request) => app.fetch(request);
}

type ProblemAnswer = (context: Context<ApiEnv>, thrown: unknown) => Response;

function problemAnswer(dependencies: EdgeDependencies): ProblemAnswer {
  return (context, thrown) => {
    const requestId = context.get("requestId");
    const { problem, headers } = problemOf(thrown, requestId);
    if (problem.status >= 500) {
      const fields = {
        requestId,
        name: nameOf(thrown),
        code: thrown instanceof GhoulsError ? thrown.code : "internal",
      };
      if (problem.status === 500) dependencies.log.error("request failed", fields);
      else dependencies.log.warn("request refused for now", fields);
    }
    return context.body(JSON.stringify(problem), problem.status, headers);
  };
}

/** Hono hands only Errors to `onError`; whatever else a service throws is caught here. */
function envelope(dependencies: EdgeDependencies, answerProblem: ProblemAnswer): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const incoming = context.req.header("x-request-id");
    const requestId =
      incoming !== undefined && SANE_REQUEST_ID.test(incoming) ? incoming : dependencies.requestId();
    context.set("requestId", requestId);
    const start = {
      kind: SpanKind.SERVER,
      parent: context.req.header("traceparent"),
      attributes: { "http.request.method": context.req.method, "ghouls.request_id": requestId },
    };
    await inSpan("ghouls.request", start, async (span) => {
      try {
        await next();
      } catch (thrown) {
        context.res = answerProblem(context, thrown);
      }
      span.setAttribute("http.route", routePath(context, -1));
      span.setAttribute("http.response.status_code", context.res.status);
      if (context.res.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    });
    context.res.headers.set("x-request-id", requestId);
    context.res.headers.set("x-content-type-options", "nosniff");
    context.res.headers.set("cache-control", "no-store");
  };
}

/** A path that is there answers 405 to the methods that it does not have. */
function refuseOtherMethods(app: Application): void {
  const methods = new Map<string, Set<string>>();
  for (const route of app.routes) {
    if (route.method === "ALL") continue;
    const known = methods.get(route.path) ?? new Set();
    known.add(route.method);
    if (route.method === "GET") known.add("HEAD");
    methods.set(route.path, known);
  }
  for (const [path, known] of methods) {
    const allow = [...known].toSorted().join(", ");
    app.all(path, (context) => {
      context.header("allow", allow);
      throw new EdgeError(
        "method_not_allowed",
        `This path does not take ${context.req.method.slice(0, 20)}.`,
        `Use ${allow}.`,
      );
    });
  }
}
