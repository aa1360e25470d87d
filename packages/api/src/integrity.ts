import type { IntegrityService } from "@ghouls/engine";
import type { Application } from "./frame.ts";
import { acknowledgeFault, listFaults } from "./integrity-routes.ts";

/** Words about what judgements have found. */
export function mountIntegrity(app: Application, integrity: IntegrityService): void {
  app.openapi(acknowledgeFault, async (context) => {
    const { id } = context.req.valid("param");
    const { reason } = context.req.valid("json");
    return context.json(await integrity.acknowledge(context.get("principal"), id, reason), 200);
  });
}

/** What they have found. */
export function mountIntegrityReads(app: Application, integrity: IntegrityService): void {
  app.openapi(listFaults, async (context) => {
    const { open, limit, cursor } = context.req.valid("query");
    const page = await integrity.list(
      context.get("principal"),
      { openOnly: open === true },
      { limit, ...(cursor === undefined ? {} : { cursor }) },
    );
    return context.json(page, 200);
  });
}
