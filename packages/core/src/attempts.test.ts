import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MAX_MISSES,
  MAX_SUBMISSIONS,
  judgeAnswer,
  nextAct,
  nextLookSeconds,
  type AskedAttempt,
} from "./attempts.ts";
import type { JobAnswer, ServiceTraits } from "./services.ts";
import { canMove, type AttemptStatus } from "./transitions.ts";

const traits: ServiceTraits = {
  lookup: "authoritative",
  submit: "idempotent",
  cancel: "advisory",
  delaySeconds: 5,
};
const asked = (change: Partial<AskedAttempt> = {}): AskedAttempt => ({
  status: "SUBMITTING",
  traits,
  late: true,
  remembered: true,
  acknowledged: false,
  demand: "now",
  submissions: 1,
  misses: 0,
  unsent: false,
  ...change,
});
const absent: JobAnswer = { state: "absent" };
const comesTo = (attempt: AskedAttempt, answer: JobAnswer) => {
  const move = judgeAnswer(attempt, answer);
  return move.kind === "move" ? move.to : move.kind;
};

describe("what is done about an attempt that is due", () => {
  test.each<[string, Partial<AskedAttempt>, string]>([
    ["never sent, and wanted, is submitted", { status: "DEFINED" }, "submit"],
    ["never sent, while its run is under way, waits", { status: "DEFINED", demand: "later" }, "wait"],
    ["never sent, and not wanted any more, is dropped", { status: "DEFINED", demand: "no" }, "drop"],
    ["of which nothing was sent is submitted", { unsent: true, misses: 9 }, "submit"],
    [
      "of which nothing was sent, and not wanted any more, is dropped",
      { unsent: true, demand: "no" },
      "drop",
    ],
    ["sent is looked up", {}, "lookUp"],
    ["sent to a service that cannot be asked waits", { traits: { ...traits, lookup: "none" } }, "wait"],
    ["sent, and not wanted any more, is cancelled", { demand: "no" }, "cancel"],
    [
      "sent, not wanted, at a service that cannot cancel is looked up",
      { demand: "no", traits: { ...traits, cancel: "none" } },
      "lookUp",
    ],
  ])("%s", (_what, change, act) => {
    expect(nextAct(asked(change))).toBe(act);
  });
});

describe("a job that is not found", () => {
  test("is sent again only where that is proven: late, remembered, authoritative, never acknowledged, idempotent and still wanted", () => {
    expect(judgeAnswer(asked(), absent)).toEqual({ kind: "resubmit" });
    expect(judgeAnswer(asked({ status: "UNCERTAIN" }), absent)).toEqual({ kind: "resubmit" });
  });

  test.each<[string, Partial<AskedAttempt>, string]>([
    ["asked about while a submission may be on its way", { late: false }, "keep"],
    ["by a lookup that is not authoritative", { traits: { ...traits, lookup: "advisory" } }, "UNCERTAIN"],
    ["which the service had acknowledged", { acknowledged: true, status: "SUBMITTED" }, "UNCERTAIN"],
    ["whose submission is not idempotent", { traits: { ...traits, submit: "once" } }, "UNCERTAIN"],
    ["which the service may have forgotten by now", { remembered: false }, "UNCERTAIN"],
    ["that nobody wants, and that may be forgotten", { demand: "no", remembered: false }, "UNCERTAIN"],
    ["forgotten while its run is under way", { demand: "later", remembered: false }, "UNCERTAIN"],
    [
      "of which nobody knew before, and that may be forgotten",
      { status: "UNCERTAIN", remembered: false },
      "keep",
    ],
    [
      "which the service had acknowledged, before it must see it",
      { acknowledged: true, late: false, status: "SUBMITTED" },
      "keep",
    ],
    ["whose run is under way", { demand: "later" }, "keep"],
    ["however often it was submitted", { submissions: MAX_SUBMISSIONS }, "UNCERTAIN"],
    ["that nobody wants any more", { demand: "no" }, "CANCELLED"],
    ["that nobody wants, asked too early", { demand: "no", late: false }, "keep"],
    ["that nobody wants, and that was acknowledged", { demand: "no", acknowledged: true }, "UNCERTAIN"],
  ])("%s is not sent again", (_what, change, expected) => {
    expect(comesTo(asked(change), absent)).toBe(expected);
  });
});

describe("a job that was cancelled", () => {
  test.each<[string, Partial<AskedAttempt>, string]>([
    ["late is CANCELLED", {}, "CANCELLED"],
    ["early is not, because a submission may come after the cancel", { late: false }, "keep"],
    [
      "early is CANCELLED where a cancelled key stays cancelled",
      { late: false, traits: { ...traits, cancel: "final" } },
      "CANCELLED",
    ],
  ])("%s", (_what, change, expected) => {
    expect(comesTo(asked(change), { state: "cancelled" })).toBe(expected);
  });

  test("but runs on, the service says, leaves nobody who knows after a bound", () => {
    const cancelling = { status: "RUNNING", demand: "no", acknowledged: true } as const;
    expect(comesTo(asked(cancelling), { state: "running" })).toBe("keep");
    expect(comesTo(asked({ ...cancelling, misses: MAX_MISSES - 1 }), { state: "running" })).toBe("UNCERTAIN");
  });
});

test("a service that does not answer once has lost nothing; several times in a row nobody knows", () => {
  const silent: JobAnswer = { state: "unknown", why: "503" };
  const running = { status: "RUNNING", acknowledged: true } as const;
  expect(judgeAnswer(asked(running), silent)).toEqual({ kind: "keep", missed: true, why: "503" });
  expect(comesTo(asked({ ...running, misses: MAX_MISSES - 1 }), silent)).toBe("UNCERTAIN");
  expect(comesTo(asked({ status: "UNCERTAIN", misses: 9 }), silent)).toBe("keep");
});

test("looks come at growing distances, and not beyond an hour, or the first distance where that is longer", () => {
  expect([0, 1, 2, 3, 4, 9].map((looks) => nextLookSeconds(30, looks))).toEqual([30, 60, 120, 240, 480, 480]);
  expect(nextLookSeconds(600, 9)).toBe(3_600);
  expect(nextLookSeconds(7_200, 9)).toBe(7_200);
});

const answers: fc.Arbitrary<JobAnswer> = fc.oneof(
  fc.constantFrom<JobAnswer>(
    { state: "accepted" },
    { state: "running" },
    { state: "cancelled" },
    { state: "absent" },
  ),
  fc.constant<JobAnswer>({ state: "succeeded", result: 1 }),
  fc.constant<JobAnswer>({ state: "failed", error: { code: "no", message: "no" } }),
  fc.constant<JobAnswer>({ state: "unknown", why: "503" }),
);
const attempts: fc.Arbitrary<AskedAttempt> = fc.record({
  status: fc.constantFrom<AttemptStatus>("SUBMITTING", "SUBMITTED", "RUNNING", "UNCERTAIN"),
  traits: fc.record({
    lookup: fc.constantFrom("authoritative" as const, "advisory" as const, "none" as const),
    submit: fc.constantFrom("idempotent" as const, "once" as const),
    cancel: fc.constantFrom("final" as const, "advisory" as const, "none" as const),
    delaySeconds: fc.nat(60),
  }),
  late: fc.boolean(),
  remembered: fc.boolean(),
  acknowledged: fc.boolean(),
  demand: fc.constantFrom("now" as const, "later" as const, "no" as const),
  submissions: fc.nat(10),
  misses: fc.nat(10),
  unsent: fc.boolean(),
});

test("no answer moves an attempt where its table does not let it go, nor launches one whose state is not proven", () => {
  fc.assert(
    fc.property(attempts, answers, (attempt, answer) => {
      const move = judgeAnswer(attempt, answer);
      if (move.kind === "move") expect(canMove("attempt", attempt.status, move.to)).toBe(true);
      if (move.kind === "resubmit") {
        const { late, remembered, acknowledged, demand } = attempt;
        expect([answer.state, late, remembered, acknowledged, demand]).toEqual([
          "absent",
          true,
          true,
          false,
          "now",
        ]);
        expect([attempt.traits.lookup, attempt.traits.submit]).toEqual(["authoritative", "idempotent"]);
        expect(attempt.submissions).toBeLessThan(MAX_SUBMISSIONS);
      }
      if (move.kind === "move" && move.to === "CANCELLED" && attempt.traits.cancel !== "final")
        expect(attempt.late).toBe(true);
      if (move.kind === "move" && move.to === "CANCELLED" && answer.state === "absent")
        expect(attempt.remembered).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
