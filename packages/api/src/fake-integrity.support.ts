import { GhoulsError, type Caller, type wire } from "@ghouls/core";
import type { IntegrityService } from "@ghouls/engine";

export const FAULT_ID = "7a1e2d3c-4b5a-4978-8695-a4b3c2d1e0f3";
const FAULT: wire.FaultView = {
  faultId: FAULT_ID,
  check: "journals are as long as their runs say",
  tenantId: "t1",
  runId: null,
  subject: "s",
  detail: "d",
  open: true,
  foundAt: "2026-01-02T03:04:05.678Z",
  foundBy: "doctor",
  seenAt: "2026-01-02T03:04:05.678Z",
  goneAt: null,
  quarantine: null,
  acknowledged: null,
};

/** The faults of the tenant t1. */
export class FakeIntegrity implements IntegrityService {
  readonly asked: unknown[] = [];

  async list(caller: Caller, filter: object, page: object): Promise<wire.FaultPage> {
    this.asked.push({ tenantId: caller.tenantId, ...filter, ...page });
    return { faults: caller.tenantId === "t1" ? [FAULT] : [], nextCursor: null };
  }

  async acknowledge(caller: Caller, faultId: string, reason: string): Promise<wire.FaultAcknowledged> {
    if (faultId !== FAULT_ID || caller.tenantId !== "t1")
      throw new GhoulsError("not_found", "There is no such fault.");
    this.asked.push({ subject: caller.subject, reason });
    return { acknowledged: true, fault: FAULT };
  }
}
