import type { wire } from "@ghouls/core";
import type { ReconcilerService } from "@ghouls/engine";

const AT = "2026-01-02T03:04:05.678Z";
const COUNTS = { found: 2, repaired: 1, left: 0, failed: 1 };

/** A reconciler that has repaired one run, and could not look after another. */
export class FakeReconciler implements ReconcilerService {
  readonly asked: unknown[] = [];

  async state(page: object): Promise<wire.ReconcilerState> {
    this.asked.push(page);
    const owner = { pass: "timers", pageId: "p1", degradedAt: AT, tries: 1, nextTurnAt: AT } as const;
    return {
      passes: [
        {
          pass: "timers",
          round: 3,
          roundUntil: null,
          cursor: null,
          reconciler: "worker-1",
          startedAt: AT,
          endedAt: AT,
          pages: 1,
          found: 2,
          repaired: 1,
          failed: 1,
          error: null,
        },
      ],
      degradedPages: [{ ...owner, owners: 1 }],
      degradedOwners: [{ ...owner, owner: "r1", tenantId: "t1", runId: "r1", reason: "no answer" }],
      nextDegradedCursor: null,
      repairs: [
        {
          repairId: "x1",
          tenantId: "t1",
          runId: "r2",
          pass: "timers",
          rule: "its time is over: resume",
          before: "AWAITING_TIMER",
          after: "QUEUED, delivery 2",
          at: AT,
        },
      ],
      nextCursor: null,
    };
  }

  async run(request: wire.PassesRequest): Promise<wire.PassesRun> {
    this.asked.push(request);
    const { dryRun = false } = request;
    const passes: wire.PassAnswer[] = [
      { pass: "timers", did: "ran", ...COUNTS, degraded: 1, error: null, findings: [], more: false },
    ];
    return { dryRun, passes };
  }
}
