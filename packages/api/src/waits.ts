import { GhoulsError, isRunId } from "@ghouls/core";
import type { ConsentService, SignalService } from "@ghouls/engine";
import type { Application } from "./frame.ts";
import { runNotFound } from "./problems.ts";
import { decideConsent, getConsent, listConsents, sendSignal } from "./wait-routes.ts";

/** What people and programs say to runs that wait. */
export function mountWaits(
  app: Application,
  { consents, signals }: { readonly consents: ConsentService; readonly signals: SignalService },
): void {
  app.openapi(decideConsent, async (context) => {
    const { id } = context.req.valid("param");
    const { verdict, digest, comment } = context.req.valid("json");
    const word = { verdict, digest, ...(comment === undefined ? {} : { comment }) };
    return context.json(await consents.decide(context.get("principal"), id, word), 200);
  });

  app.openapi(sendSignal, async (context) => {
    const { id, name } = context.req.valid("param");
    if (!isRunId(id)) throw runNotFound();
    const key = context.req.valid("header")["idempotency-key"];
    const signal = {
      name,
      payloadText: context.get("json").member("payload"),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    };
    const sent = await signals.send(context.get("principal"), id, signal).catch((error: unknown) => {
      // Absent and foreign are told in the same words.
      throw error instanceof GhoulsError && error.code === "not_found" ? runNotFound() : error;
    });
    return context.json(sent, 200);
  });
}

/** What is asked of people. */
export function mountConsents(app: Application, consents: ConsentService): void {
  app.openapi(listConsents, async (context) => {
    const { status, runId, mine, limit, cursor } = context.req.valid("query");
    const { tenantId } = context.get("principal");
    if (mine === true) {
      if (status !== undefined || runId !== undefined) throw mineAlone();
      const place = { limit, ...(cursor === undefined ? {} : { cursor }) };
      return context.json(await consents.inbox(context.get("principal"), place), 200);
    }
    // Whatever is no run id has no consents.
    if (runId !== undefined && !isRunId(runId)) return context.json({ consents: [], nextCursor: null }, 200);
    const page = await consents.list(
      tenantId,
      { ...(status === undefined ? {} : { status }), ...(runId === undefined ? {} : { runId }) },
      { limit, ...(cursor === undefined ? {} : { cursor }) },
    );
    return context.json(page, 200);
  });

  app.openapi(getConsent, async (context) => {
    const { id } = context.req.valid("param");
    const consent = await consents.get(context.get("principal").tenantId, id);
    if (consent === undefined)
      throw new GhoulsError("not_found", "There is no such consent.", {
        fix: "GET /v1/consents lists those that this token may see.",
      });
    return context.json(consent, 200);
  });
}

function mineAlone(): GhoulsError {
  return new GhoulsError("invalid_request", "mine=true goes with no other filter", {
    fix: "Leave status and runId out: what waits for your word is PENDING, of any run.",
  });
}
