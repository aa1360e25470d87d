import { describe, expect, test } from "vitest";
import { judgeDeadLetter } from "./dead-letters.ts";
import type { UnclaimedDelivery } from "./skip.ts";

const RUN = "11111111-1111-4111-8111-111111111111";
const pending: UnclaimedDelivery = {
  runStatus: "QUEUED",
  deliveryStatus: "PENDING",
  cause: "admitted",
  currentSeq: 1,
  seq: 1,
  paused: false,
  quarantined: false,
  dueInSeconds: 0,
  leaseEndsInSeconds: null,
};

describe("a dead letter", () => {
  test("of a delivery that is due is published anew: its run has not failed", () => {
    expect(judgeDeadLetter(`run:${RUN}:1`, pending)).toEqual({
      kind: "republish",
      ref: { runId: RUN, enqueueSeq: 1 },
    });
  });

  test.each<[string, Partial<UnclaimedDelivery>, string]>([
    ["has ended", { runStatus: "DONE" }, "terminal"],
    ["was settled", { deliveryStatus: "SETTLED" }, "settled"],
    ["was fenced", { deliveryStatus: "FENCED" }, "fenced"],
    ["was followed by another", { currentSeq: 2 }, "superseded"],
    ["a worker carries", { deliveryStatus: "CLAIMED", leaseEndsInSeconds: 60 }, "claimed"],
    ["a lost worker has", { deliveryStatus: "CLAIMED", leaseEndsInSeconds: -60 }, "claimed"],
    ["waits for its release", { deliveryStatus: "HELD" }, "held"],
    ["is not due yet", { dueInSeconds: 60 }, "early"],
    ["is paused", { paused: true }, "paused"],
    ["is quarantined", { quarantined: true }, "quarantined"],
    ["waits for its end", { runStatus: "CANCELLING" }, "ending"],
  ])("of a delivery that %s is dropped: the ledger looks after it", (_what, row, reason) => {
    expect(judgeDeadLetter(`run:${RUN}:1`, { ...pending, ...row })).toEqual({ kind: "drop", reason });
  });

  test("of a timer is dropped, and what names nothing of this ledger stays for a person", () => {
    expect(judgeDeadLetter(`wake:${RUN}`, undefined)).toEqual({ kind: "drop", reason: "timer" });
    expect(judgeDeadLetter(`run:${RUN}:1`, undefined)).toEqual({ kind: "keep", reason: "unknown" });
    expect(judgeDeadLetter("hello", undefined)).toEqual({ kind: "keep", reason: "poison" });
  });
});
