import {
  GOING_ON_RUN,
  GhoulsError,
  holds,
  isRunId,
  type Caller,
  type Ids,
  type Pause,
  type Run,
  type wire,
} from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import type { PauseService } from "./services.ts";

export interface PausesOptions {
  readonly ledger: Pick<Ledger, "pauses">;
  readonly ids: Ids;
}

/** Pauses of a tenant, of a workflow in it, and of everything, each with who set it and why (design.md §3, Claim). */
export function createPauses({ ledger, ids }: PausesOptions): PauseService {
  return {
    list: async (tenantId) => ({ pauses: (await ledger.pauses.ofTenant(tenantId)).map(pauseView) }),

    set: async (caller, request) => {
      if (request.scope === "all") mustReachAll(caller);
      const { created, pause } = await ledger.pauses.set({
        pauseId: ids.next(),
        scope: request.scope,
        tenantId: request.scope === "all" ? null : caller.tenantId,
        workflow: request.scope === "workflow" ? request.workflow : null,
        actor: caller.subject,
        reason: request.reason,
      });
      return { created, pause: pauseView(pause) };
    },

    lift: async (caller, pauseId, reason) => {
      const found = isRunId(pauseId) ? await ledger.pauses.get(pauseId) : null;
      if (found === null || (found.tenantId !== null && found.tenantId !== caller.tenantId)) throw absent();
      if (found.tenantId === null) mustReachAll(caller);
      const answer = await ledger.pauses.lift(pauseId, { actor: caller.subject, reason });
      if (answer === null) throw absent();
      return { lifted: answer.lifted, pause: pauseView(answer.pause) };
    },
  };
}

/** A key of a tenant holds its own runs only: what spans tenants wants a permission that no role has by itself. */
function mustReachAll({ permissions }: Caller): void {
  if (permissions.includes("deployment:pause")) return;
  throw new GhoulsError(
    "forbidden",
    "This needs the permission deployment:pause, which the token does not have: it reaches beyond your tenant.",
    {
      fix: "Name your tenant or a workflow of it; or use a key that has it: `ghouls keys create --tenant <name> --subject <name> --role operator --permission deployment:pause`.",
    },
  );
}

export function pauseView({ pauseId, scope, tenantId, workflow, by, reason, at }: Pause): wire.PauseView {
  return { pauseId, scope, tenantId, workflow, by, reason, at: at.toISOString() };
}

/** What holds a run, its own pause first. A run that is ending, or has ended, is held by none. */
export function heldBy(
  run: Pick<Run, "tenantId" | "workflow" | "status" | "pause">,
  pauses: readonly Pause[],
): wire.HeldBy[] {
  if (!GOING_ON_RUN.includes(run.status)) return [];
  const { tenantId, workflow, pause } = run;
  const own = pause === null ? [] : [{ ...pause, scope: "run" as const, pauseId: null }];
  const others = pauses.filter((one) => holds(one, { tenantId, workflow: workflow.name }));
  return [...own, ...others].map(({ scope, pauseId, by, reason, at }) => ({
    scope,
    pauseId,
    by,
    reason,
    at: at.toISOString(),
  }));
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "There is no such pause.", {
    fix: "GET /v1/pauses has the pauses that this token may see.",
  });
}
