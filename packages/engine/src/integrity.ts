import { GhoulsError, isRunId, type Caller, type IntegrityFault, type wire } from "@ghouls/core";
import type { FaultPosition, Ledger } from "@ghouls/ledger";
import { cursorOf, positionOf } from "./cursor.ts";
import type { IntegrityService } from "./services.ts";

export interface IntegrityOptions {
  readonly ledger: Pick<Ledger, "integrity">;
}

/** What judgements have found, and who knows of it (design.md §3, Judgement at start). */
export function createIntegrity({ ledger }: IntegrityOptions): IntegrityService {
  return {
    list: async (caller, { openOnly }, { limit, cursor }) => {
      const { faults, next } = await ledger.integrity.page(
        { tenantId: caller.tenantId, deployment: seesDeployment(caller), openOnly },
        { limit, after: cursor === undefined ? undefined : faultPositionOf(cursor) },
      );
      return { faults: faults.map(faultView), nextCursor: next === undefined ? null : faultCursorOf(next) };
    },

    acknowledge: async (caller, faultId, reason) => {
      const found = isRunId(faultId) ? await ledger.integrity.get(faultId) : null;
      if (found === null || !mayKnow(caller, found)) throw absent();
      const answer = await ledger.integrity.acknowledge(faultId, { actor: caller.subject, reason });
      if (answer === null) throw absent();
      return { acknowledged: answer.acknowledged, fault: faultView(answer.fault) };
    },
  };
}

/** No role has it by itself: what belongs to no tenant names runs of others. */
const seesDeployment = ({ permissions }: Caller): boolean => permissions.includes("deployment:integrity");

function mayKnow(caller: Caller, { tenantId }: IntegrityFault): boolean {
  return tenantId === null ? seesDeployment(caller) : tenantId === caller.tenantId;
}

/** A cursor of a list, in front of which stands which of its two parts it is in. */
function faultCursorOf(position: FaultPosition): string {
  return `${position.open ? "o" : "c"}${cursorOf(position)}`;
}

/** @throws GhoulsError invalid_request for what is no cursor of ours */
function faultPositionOf(cursor: string): FaultPosition {
  const part = cursor.slice(0, 1);
  // What has no part of ours in front is no cursor of ours either way.
  const position = positionOf(part === "o" || part === "c" ? cursor.slice(1) : "");
  return { ...position, open: part === "o" };
}

export function faultView(fault: IntegrityFault): wire.FaultView {
  const { foundAt, seenAt, goneAt, acknowledged, ...rest } = fault;
  return {
    ...rest,
    open: goneAt === null && acknowledged === null,
    foundAt: foundAt.toISOString(),
    seenAt: seenAt.toISOString(),
    goneAt: goneAt === null ? null : goneAt.toISOString(),
    acknowledged: acknowledged && { ...acknowledged, at: acknowledged.at.toISOString() },
  };
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "There is no such fault.", {
    fix: "GET /v1/integrity has the faults that this token may see.",
  });
}
