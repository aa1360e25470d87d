import { isRunId } from "@ghouls/core";
import type { ControlService, PauseService } from "@ghouls/engine";
import { inOneWording } from "./control.ts";
import type { Application } from "./frame.ts";
import { liftPause, listPauses, pauseRun, setPause, unpauseRun } from "./pause-routes.ts";
import { runNotFound } from "./problems.ts";

/** What stops runs, and lets them go on. */
export function mountPauses(
  app: Application,
  { control, pauses }: { readonly control: ControlService; readonly pauses: PauseService },
): void {
  app.openapi(pauseRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const { reason } = context.req.valid("json");
    const paused = await control.pause(context.get("principal"), id, reason).catch(inOneWording(runNotFound));
    return context.json(paused, 200);
  });

  app.openapi(unpauseRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const { reason } = context.req.valid("json");
    const unpaused = await control
      .unpause(context.get("principal"), id, reason)
      .catch(inOneWording(runNotFound));
    return context.json(unpaused, 200);
  });

  app.openapi(setPause, async (context) =>
    context.json(await pauses.set(context.get("principal"), context.req.valid("json")), 200),
  );

  app.openapi(liftPause, async (context) => {
    const { id } = context.req.valid("param");
    const { reason } = context.req.valid("query");
    return context.json(await pauses.lift(context.get("principal"), id, reason), 200);
  });
}

/** What is stopped. */
export function mountPauseReads(app: Application, pauses: PauseService): void {
  app.openapi(listPauses, async (context) =>
    context.json(await pauses.list(context.get("principal").tenantId), 200),
  );
}
