import { GhoulsError, isRunId } from "@ghouls/core";
import type { ControlService } from "@ghouls/engine";
import { cancelRun, cancelRuns, clearRun, resolveItem } from "./control-routes.ts";
import type { Application } from "./frame.ts";
import { runNotFound } from "./problems.ts";

/** What people may do to a run after its admission. */
export function mountControl(app: Application, control: ControlService): void {
  app.openapi(cancelRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const { reason } = context.req.valid("json");
    return context.json(
      await control.cancel(context.get("principal"), id, reason).catch(inOneWording(runNotFound)),
      200,
    );
  });

  app.openapi(cancelRuns, async (context) =>
    context.json(await control.cancelMatching(context.get("principal"), context.req.valid("json")), 200),
  );

  app.openapi(clearRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const { reason } = context.req.valid("json");
    return context.json(
      await control.clear(context.get("principal"), id, reason).catch(inOneWording(runNotFound)),
      200,
    );
  });

  app.openapi(resolveItem, async (context) => {
    const { id, item } = context.req.valid("param");
    if (!isRunId(id)) throw itemNotFound();
    const { reason } = context.req.valid("json");
    const settled = await control
      .resolve(context.get("principal"), id, item, reason)
      .catch(inOneWording(itemNotFound));
    return context.json(settled, 200);
  });
}

/** Absent and foreign are told in the same words. */
export function inOneWording(absent: () => GhoulsError): (error: unknown) => never {
  return (error) => {
    throw error instanceof GhoulsError && error.code === "not_found" ? absent() : error;
  };
}

function itemNotFound(): GhoulsError {
  return new GhoulsError("not_found", "There is no such run, or no such open item of it.", {
    fix: "GET /v1/runs/<id> has the items of a run that this token may see.",
  });
}
