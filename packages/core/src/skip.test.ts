import { describe, expect, test } from "vitest";
import { decideSkip, type UnclaimedDelivery } from "./skip.ts";
import { statesOf, terminalStatesOf } from "./transitions.ts";

const pending: UnclaimedDelivery = {
  runStatus: "QUEUED",
  deliveryStatus: "PENDING",
  cause: "admitted",
  currentSeq: 3,
  seq: 3,
  paused: false,
  quarantined: false,
  dueInSeconds: -1,
  leaseEndsInSeconds: null,
};

describe("a message is deleted only where the committed state proves it useless", () => {
  test.each([
    ["a settled delivery", { deliveryStatus: "SETTLED" }, "settled"],
    ["a fenced delivery", { deliveryStatus: "FENCED" }, "fenced"],
    ["an older sequence", { seq: 2 }, "superseded"],
    ["a quarantined run, which clear publishes anew", { quarantined: true }, "quarantined"],
    ["a paused run, which unpause publishes anew", { paused: true }, "paused"],
  ] as const)("%s: deleted", (_name, change, reason) => {
    expect(decideSkip({ ...pending, ...change })).toEqual({ reason, deleteMessage: true, retryInSeconds: 0 });
  });

  test.each(terminalStatesOf("run"))("a run that is %s: deleted", (runStatus) => {
    expect(decideSkip({ ...pending, runStatus, deliveryStatus: "CLAIMED" })).toMatchObject({
      reason: "terminal",
      deleteMessage: true,
    });
  });

  test.each([
    ["a run that is not visible yet", undefined, "unknown", 30],
    ["a delivery that is held", { deliveryStatus: "HELD" }, "held", 30],
    ["one that is early", { dueInSeconds: 7.2 }, "early", 8],
    [
      "one that is a day early: SQS hides for twelve hours at most",
      { dueInSeconds: 86_400 },
      "early",
      43_000,
    ],
    ["one that a live claim carries", { deliveryStatus: "CLAIMED", leaseEndsInSeconds: 41.5 }, "claimed", 42],
    [
      "one whose lease has lapsed and is not judged",
      { deliveryStatus: "CLAIMED", leaseEndsInSeconds: -9 },
      "claimed",
      5,
    ],
    ["one that another transaction is moving", {}, "contended", 2],
    [
      "a contain delivery, which no pause holds",
      { runStatus: "FAILING", cause: "contain", paused: true, dueInSeconds: 9 },
      "early",
      9,
    ],
    [
      "a claim of a quarantined run",
      { deliveryStatus: "CLAIMED", quarantined: true, leaseEndsInSeconds: 60 },
      "claimed",
      60,
    ],
  ] as const)("%s: comes back", (_name, change, reason, retryInSeconds) => {
    const row = change === undefined ? undefined : { ...pending, ...change };
    expect(decideSkip(row)).toEqual({ reason, deleteMessage: false, retryInSeconds });
  });

  test("a run that is ending keeps the message of an open delivery, whatever its state", () => {
    for (const runStatus of statesOf("run")) {
      const skip = decideSkip({ ...pending, runStatus });
      if (terminalStatesOf("run").includes(runStatus)) continue;
      expect(skip.deleteMessage).toBe(false);
    }
  });
});
