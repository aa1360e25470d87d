import { isRunId, type Logger, type wire } from "@ghouls/core";
import type { ReadinessCheck, ReadService, RunFilter } from "@ghouls/engine";
import type { z } from "@hono/zod-openapi";
import { openApiDocument } from "./document.ts";
import type { Application } from "./frame.ts";
import { nameOf, runNotFound } from "./problems.ts";
import {
  type RunQuery,
  countRuns,
  getEvidence,
  getRun,
  getTimeline,
  healthz,
  listPinned,
  listRuns,
  listWorkflows,
  readyz,
  whoami,
} from "./read-routes.ts";

export interface ReadDependencies {
  readonly reads: ReadService;
  readonly workflows: () => wire.WorkflowList;
  readonly readiness: () => Promise<readonly ReadinessCheck[]>;
  readonly log: Logger;
}

/** The routes that only read. The tenant is the principal's and comes from nowhere else. */
export function mountReads(app: Application, dependencies: ReadDependencies): void {
  const { reads } = dependencies;

  app.openapi(listRuns, async (context) => {
    const { limit, cursor, ...query } = context.req.valid("query");
    const page = await reads.listRuns(context.get("principal").tenantId, filterOf(query), {
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    return context.json(page, 200);
  });

  // Before the route of one run, whose path has the same form.
  app.openapi(countRuns, async (context) => {
    const { hours, ...query } = context.req.valid("query");
    return context.json(
      await reads.countRuns(context.get("principal").tenantId, filterOf(query), hours),
      200,
    );
  });

  app.openapi(getRun, async (context) => {
    const { id } = context.req.valid("param");
    const run = isRunId(id) ? await reads.getRun(context.get("principal").tenantId, id) : undefined;
    if (run === undefined) throw runNotFound();
    return context.json(run, 200);
  });

  app.openapi(getTimeline, async (context) => {
    const { id } = context.req.valid("param");
    const timeline = isRunId(id) ? await reads.getTimeline(context.get("principal").tenantId, id) : undefined;
    if (timeline === undefined) throw runNotFound();
    return context.json(timeline, 200);
  });

  app.openapi(getEvidence, async (context) => {
    const { id } = context.req.valid("param");
    const { limit, cursor } = context.req.valid("query");
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const evidence = isRunId(id)
      ? await reads.getEvidence(context.get("principal").tenantId, id, page)
      : undefined;
    if (evidence === undefined) throw runNotFound();
    return context.json(evidence, 200);
  });

  app.openapi(listWorkflows, (context) => context.json(dependencies.workflows(), 200));
  app.openapi(listPinned, async (context) =>
    context.json(await reads.listPinned(context.get("principal").tenantId), 200),
  );
  app.openapi(whoami, (context) => {
    const { tenantId, subject, roles, permissions } = context.get("principal");
    return context.json({ tenantId, subject, roles: [...roles], permissions: [...permissions] }, 200);
  });
  mountPublic(app, dependencies);
}

/** What is not asked for is no filter. */
function filterOf({
  status,
  workflow,
  label: labels,
  parentRunId,
  admittedAfter,
  admittedBefore,
  attention,
}: Partial<Omit<z.output<typeof RunQuery>, "limit" | "cursor">>): RunFilter {
  return {
    ...(status === undefined ? {} : { status }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(labels === undefined ? {} : { labels }),
    ...(parentRunId === undefined ? {} : { parentRunId }),
    ...(admittedAfter === undefined ? {} : { after: new Date(admittedAfter) }),
    ...(admittedBefore === undefined ? {} : { before: new Date(admittedBefore) }),
    ...(attention === undefined ? {} : { attention }),
  };
}

function mountPublic(app: Application, dependencies: ReadDependencies): void {
  app.openapi(healthz, (context) => context.json({ status: "ok" as const }, 200));

  app.openapi(readyz, async (context) => {
    let checks: readonly ReadinessCheck[];
    try {
      checks = await dependencies.readiness();
    } catch (thrown) {
      dependencies.log.error("readiness failed", {
        requestId: context.get("requestId"),
        name: nameOf(thrown),
      });
      checks = [{ name: "readiness", ok: false, detail: "the checks could not be made" }];
    }
    const ready = checks.length > 0 && checks.every((check) => check.ok);
    return context.json({ ready, checks: [...checks] }, ready ? 200 : 503);
  });

  const document = openApiDocument();
  app.get("/openapi.json", (context) => context.json(document, 200));
}
