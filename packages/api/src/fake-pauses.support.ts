import { GhoulsError, type Caller, type wire } from "@ghouls/core";
import type { PauseService } from "@ghouls/engine";

export const PAUSE_ID = "5f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f3";
const PAUSE: wire.PauseView = {
  pauseId: PAUSE_ID,
  scope: "tenant",
  tenantId: "t1",
  workflow: null,
  by: "olga",
  reason: "a leak",
  at: "2026-01-02T03:04:05.678Z",
};

/** The pauses of the tenant t1. */
export class FakePauses implements PauseService {
  readonly acts: { subject: string; act: unknown }[] = [];

  async list(tenantId: string): Promise<wire.PauseList> {
    return { pauses: tenantId === "t1" ? [PAUSE] : [] };
  }

  async set(caller: Caller, request: wire.PauseRequest): Promise<wire.PauseSet> {
    this.acts.push({ subject: caller.subject, act: request });
    return { created: true, pause: PAUSE };
  }

  async lift(caller: Caller, pauseId: string, reason: string): Promise<wire.PauseLifted> {
    if (pauseId !== PAUSE_ID || caller.tenantId !== "t1")
      throw new GhoulsError("not_found", "Nothing there.");
    this.acts.push({ subject: caller.subject, act: reason });
    return { lifted: true, pause: PAUSE };
  }
}
