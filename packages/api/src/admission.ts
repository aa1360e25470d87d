import { GhoulsError, isRunId } from "@ghouls/core";
import type { AdmissionService } from "@ghouls/engine";
import { redriveRun, releaseRun, submitBatch, submitRun } from "./admission-routes.ts";
import type { Application } from "./frame.ts";
import { textsOf, textsOfMembers } from "./members.ts";
import { runNotFound } from "./problems.ts";

/** The routes that write: the only ones whose function may publish. */
export function mountAdmission(app: Application, admission: AdmissionService): void {
  app.openapi(submitRun, async (context) => {
    const key = context.req.valid("header")["idempotency-key"];
    const admitted = await admission.admit(context.get("principal"), {
      request: context.req.valid("json"),
      ...textsOf(context.get("json")),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return context.json(admitted, 202);
  });

  app.openapi(submitBatch, async (context) => {
    const texts = textsOfMembers(context.get("json"));
    const requests = context.req.valid("json").runs.map(({ idempotencyKey, ...request }, index) => ({
      request,
      ...(texts[index] as (typeof texts)[number]),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    }));
    return context.json(await admission.admitBatch(context.get("principal"), requests), 202);
  });

  app.openapi(releaseRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const released = await admission.release(context.get("principal"), id).catch(inOneWording);
    return context.json(released, 200);
  });

  app.openapi(redriveRun, async (context) => {
    const { id } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const { reason } = context.req.valid("json");
    const redriven = await admission.redrive(context.get("principal"), id, reason).catch(inOneWording);
    return context.json(redriven, 202);
  });
}

/** An absent run is told in the one wording, whatever the service's is. */
function inOneWording(error: unknown): never {
  throw error instanceof GhoulsError && error.code === "not_found" ? runNotFound() : error;
}
