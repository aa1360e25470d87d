import type { ReconcilerService } from "@ghouls/engine";
import type { Application } from "./frame.ts";
import { getReconciler, runPasses } from "./reconciler-routes.ts";

/** What sets the reconciler to work. */
export function mountReconciler(app: Application, reconciler: Pick<ReconcilerService, "run">): void {
  app.openapi(runPasses, async (context) => {
    const { passes, dryRun } = context.req.valid("json");
    const request = {
      ...(passes === undefined ? {} : { passes }),
      ...(dryRun === undefined ? {} : { dryRun }),
    };
    return context.json(await reconciler.run(request), 200);
  });
}

/** What it has done. */
export function mountReconcilerReads(app: Application, reconciler: Pick<ReconcilerService, "state">): void {
  app.openapi(getReconciler, async (context) => {
    const { limit, cursor, degradedCursor } = context.req.valid("query");
    const page = {
      limit,
      ...(cursor === undefined ? {} : { cursor }),
      ...(degradedCursor === undefined ? {} : { degradedCursor }),
    };
    return context.json(await reconciler.state(page), 200);
  });
}
