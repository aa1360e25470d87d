import { GhoulsError, isRunId, type JobReport, type wire } from "@ghouls/core";
import type { AttemptService } from "@ghouls/engine";
import { TOKEN_HEADER, getAttempt, listAttempts, reportAttempt, resolveAttempt } from "./attempt-routes.ts";
import type { Application } from "./frame.ts";

/** What services report of jobs, and what operators say of them. */
export function mountJobs(app: Application, attempts: AttemptService): void {
  app.openapi(reportAttempt, async (context) => {
    const { id } = context.req.valid("param");
    const report = context.req.valid("json") as JobReport;
    return context.json(await attempts.report(id, context.req.header(TOKEN_HEADER), report), 200);
  });

  app.openapi(resolveAttempt, async (context) => {
    const { id } = context.req.valid("param");
    const word = context.req.valid("json") as wire.AttemptResolution;
    return context.json(await attempts.resolve(context.get("principal"), id, word), 200);
  });
}

export function mountAttempts(app: Application, attempts: AttemptService): void {
  app.openapi(listAttempts, async (context) => {
    const { status, runId, limit, cursor } = context.req.valid("query");
    const { tenantId } = context.get("principal");
    // Whatever is no run id has delegated nothing.
    if (runId !== undefined && !isRunId(runId)) return context.json({ attempts: [], nextCursor: null }, 200);
    const page = await attempts.list(
      tenantId,
      { ...(status === undefined ? {} : { status }), ...(runId === undefined ? {} : { runId }) },
      { limit, ...(cursor === undefined ? {} : { cursor }) },
    );
    return context.json(page, 200);
  });

  app.openapi(getAttempt, async (context) => {
    const { id } = context.req.valid("param");
    const attempt = await attempts.get(context.get("principal").tenantId, id);
    if (attempt === undefined)
      throw new GhoulsError("not_found", "There is no such attempt.", {
        fix: "GET /v1/attempts lists those that this token may see.",
      });
    return context.json(attempt, 200);
  });
}
