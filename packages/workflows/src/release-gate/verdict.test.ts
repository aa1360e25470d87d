import { describe, expect, test } from "vitest";
import type { Finding } from "./integrity.ts";
import type { Evidence } from "./verdict.ts";
import { decide, decidedBy, MAX_LISTED, summarise, unsigned, Verdict } from "./verdict.ts";

const finding = (outcome: Finding["outcome"], isGap = false): Finding => ({
  package: "a@1",
  outcome,
  why: "w",
  isGap,
});
const question = { package: "a", version: "1", licence: "X", why: "w" };

function evidence(findings: readonly Finding[], changes: Partial<Evidence> = {}): Evidence {
  return {
    lockfile: { path: "/l", sha256: "0" },
    policy: { name: "p", path: "/p", sha256: "0" },
    components: 3,
    questions: [],
    questionsOmitted: 0,
    bom: { path: "/b", bytes: 1, sha256: "0" },
    requireIntegrity: true,
    consent: null,
    batches: [summarise(findings, null)],
    ...changes,
  };
}

describe("decide", () => {
  test.each<[string, Evidence, "PASSED" | "REFUSED", RegExp]>([
    ["all verified", evidence([finding("verified")]), "PASSED", /^1 package verified/],
    [
      "some not in the cache, as machines differ",
      evidence([finding("not_in_cache")]),
      "PASSED",
      /not in the cache/,
    ],
    ["one mismatch", evidence([finding("verified"), finding("mismatch")]), "REFUSED", /another content/],
    [
      "no integrity, though the policy requires it",
      evidence([finding("no_integrity", true)]),
      "REFUSED",
      /without an/,
    ],
    ["no integrity where none can be", evidence([finding("no_integrity")]), "PASSED", /0 packages verified/],
    [
      "no integrity, and a policy that does not mind",
      evidence([finding("no_integrity", true)], { requireIntegrity: false }),
      "PASSED",
      /0 packages verified/,
    ],
    ["one question", evidence([], { questions: [question] }), "REFUSED", /^1 licence in question/],
    [
      "questions beyond the list",
      evidence([], { questionsOmitted: 2 }),
      "REFUSED",
      /^2 licences in question/,
    ],
  ])("%s", (_, given, decision, reason) => {
    const { verdict } = decide(given);
    expect(verdict.decision).toBe(decision);
    expect(verdict.reasons.join(" ")).toMatch(reason);
    expect(Verdict.parse(verdict)).toEqual(verdict);
  });

  test("adds up all batches: a mismatch in any of them refuses, and a missing cache is told once", () => {
    const batches = [summarise([finding("verified")], "/c"), summarise([finding("mismatch")], "/c")];
    const { verdict } = decide(evidence([], { batches }));
    expect(verdict).toMatchObject({
      decision: "REFUSED",
      integrity: { verified: 1, not_in_cache: 0, mismatch: 1, no_integrity: 0 },
      mismatches: [{ package: "a@1", why: "w" }],
    });
    expect(verdict.reasons.filter((reason) => reason === "There is no npm cache at /c.")).toHaveLength(1);
  });

  test("lists a bounded number of findings, and counts them all", () => {
    const many = Array.from({ length: MAX_LISTED + 1 }, () => finding("mismatch"));
    const { verdict } = decide(evidence(many));
    expect(verdict.mismatches).toHaveLength(MAX_LISTED);
    expect(verdict.integrity.mismatch).toBe(MAX_LISTED + 1);
  });
});

describe("what people said to the questions", () => {
  const word = (by: string, verdict: "grant" | "deny") => ({
    by,
    verdict,
    at: "2026-11-30T00:00:00Z",
    comment: null,
  });
  const asked = (changes: Partial<Evidence>) =>
    decide(evidence([finding("verified")], { questions: [question], ...changes }));

  test("is asked for where nothing else refuses, and only there", () => {
    expect(asked({}).hangsOnLicences).toBe(true);
    expect(asked({ questions: [] }).hangsOnLicences).toBe(false);
    expect(asked({ batches: [summarise([finding("mismatch")], null)] }).hangsOnLicences).toBe(false);
  });

  test.each([
    [
      "GRANTED",
      [word("user:ada", "grant"), word("user:bob", "grant")],
      "PASSED",
      /granted by user:ada, user:bob/,
    ],
    ["DENIED", [word("user:ada", "grant"), word("user:bob", "deny")], "REFUSED", /denied by user:bob\./],
    ["EXPIRED", [], "REFUSED", /nobody answered in time/],
  ] as const)("%s decides, and is named", (outcome, decisions, decision, reason) => {
    const { verdict, hangsOnLicences } = asked({ consent: { outcome, decisions: [...decisions] } });
    expect(verdict.decision).toBe(decision);
    expect(verdict.reasons).toContainEqual(expect.stringMatching(reason));
    expect(verdict.consent).toEqual({ outcome, decisions });
    expect(hangsOnLicences).toBe(decision === "REFUSED");
  });

  test("does not let a mismatch pass", () => {
    const consent = { outcome: "GRANTED" as const, decisions: [word("user:ada", "grant")] };
    const { verdict } = asked({ consent, batches: [summarise([finding("mismatch")], null)] });
    expect(verdict.decision).toBe("REFUSED");
  });

  test("names those who granted in the statement; without any the policy, by its digest", () => {
    const decisions = [word("user:ada", "grant"), word("user:bob", "grant")];
    const granted = asked({ consent: { outcome: "GRANTED", decisions } }).verdict;
    expect(decidedBy(granted)).toEqual(["user:ada", "user:bob"]);
    const policy = { name: "ours", path: "/p", sha256: "0123456789abcdef" };
    expect(decidedBy(asked({ questions: [], policy }).verdict)).toEqual(["policy:ours@0123456789ab"]);
    // A grant for want of an answer is nobody's.
    const silent = asked({ policy, consent: { outcome: "GRANTED", decisions: [] } }).verdict;
    expect(decidedBy(silent)).toEqual(["policy:ours@0123456789ab"]);
  });
});

test("a verdict that passed and is not signed refuses, and says why first", () => {
  const { verdict } = decide(evidence([finding("verified")]));
  const refused = unsigned(verdict, "nobody was there");
  expect(refused).toEqual({
    ...verdict,
    decision: "REFUSED",
    reasons: ["Not signed: nobody was there.", ...verdict.reasons],
  });
  expect(Verdict.parse(refused)).toEqual(refused);
});
