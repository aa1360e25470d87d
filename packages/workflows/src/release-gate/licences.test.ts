import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lockedPackage, policyOf } from "./fixtures.ts";
import { judgeExpression, judgePackage, judgePackages, readLicence } from "./licences.ts";
import { parseExpression } from "./spdx.ts";

const policy = policyOf();

/** The outcome of a licence field, as a table can hold it. */
function outcomeOf(field: unknown): string {
  const licence = readLicence(field, policy);
  return licence.kind === "expression" ? judgeExpression(licence.node, policy).outcome : licence.kind;
}

describe("a licence field", () => {
  test.each<[unknown, string]>([
    ["MIT", "allowed"],
    ["mit", "allowed"],
    [" MIT ", "allowed"],
    ["(MIT)", "allowed"],
    ["GPL-3.0-only", "denied"],
    ["ISC", "unknown"],
    // OR, AND and their precedence
    ["MIT OR GPL-3.0-only", "allowed"],
    ["GPL-3.0-only OR MIT", "allowed"],
    ["GPL-3.0-only OR ISC", "unknown"],
    ["GPL-3.0-only OR GPL-2.0-only", "denied"],
    ["MIT AND Apache-2.0", "allowed"],
    ["MIT AND GPL-3.0-only", "denied"],
    ["MIT AND ISC", "unknown"],
    ["ISC AND GPL-3.0-only", "denied"],
    ["MIT OR ISC AND GPL-3.0-only", "allowed"],
    ["(MIT OR ISC) AND GPL-3.0-only", "denied"],
    ["(MIT OR GPL-3.0-only) AND (ISC OR Apache-2.0)", "allowed"],
    ["MIT or Apache-2.0", "allowed"],
    // or later
    ["Apache-2.0+", "allowed"],
    ["LGPL-2.1+", "allowed"],
    ["GPL-2.0-only+", "denied"],
    ["AGPL-3.0+", "denied"],
    ["ISC+", "unknown"],
    // exceptions
    ["Apache-2.0 WITH LLVM-exception", "allowed"],
    ["Apache-2.0 WITH Classpath-exception-2.0", "unknown"],
    ["GPL-2.0-only WITH Classpath-exception-2.0", "allowed"],
    ["GPL-3.0-only WITH Classpath-exception-2.0", "denied"],
    ["GPL-3.0-only WITH LLVM-exception", "denied"],
    ["ISC WITH LLVM-exception", "unknown"],
    ["MIT WITH No-such-exception", "unreadable"],
    // aliases
    ["Apache 2.0", "allowed"],
    ["APACHE  2.0", "allowed"],
    ["BSD", "allowed"],
    ["MIT/X11", "allowed"],
    ["GPLv3", "denied"],
    ["Apache 2.0 OR MIT", "unreadable"],
    // old forms
    [{ type: "MIT", url: "https://example.org" }, "allowed"],
    [{ type: "Apache 2.0" }, "allowed"],
    [{ type: "GPL-3.0-only" }, "denied"],
    [[{ type: "MIT" }], "allowed"],
    [[{ type: "GPLv3" }, { type: "MIT" }], "allowed"],
    [["GPL-3.0-only", "GPL-2.0-only"], "denied"],
    [["MIT", { type: "No such" }], "unreadable"],
    [["MIT) AND (ISC", "MIT"], "unreadable"],
    [["MIT", ["MIT"]], "unreadable"],
    [{ url: "https://example.org" }, "unreadable"],
    [7, "unreadable"],
    // no licence at all
    [undefined, "missing"],
    [null, "missing"],
    ["", "missing"],
    ["  ", "missing"],
    [[], "missing"],
    ["UNLICENSED", "unlicensed"],
    ["unlicensed", "unlicensed"],
    ["Unlicense", "unknown"],
    ["SEE LICENSE IN LICENSE.md", "file"],
    ["See licence in COPYING", "file"],
    ["LicenseRef-scancode-ours", "unknown"],
    ["DocumentRef-x:LicenseRef-y", "unknown"],
    ["MIT @GPL-3.0-only", "unreadable"],
    ["NOASSERTION", "unreadable"],
    [`MIT${" OR MIT".repeat(1_000)}`, "unreadable"],
  ])("%j is %s", (field, outcome) => {
    expect(outcomeOf(field)).toBe(outcome);
  });

  test("is cut in a question, so that a hostile one cannot fill the journal", () => {
    const question = judgePackage(lockedPackage({ licence: "x".repeat(100_000) }), policy);
    expect(question?.licence.length).toBeLessThan(300);
  });
});

test("a licence with a NUL or half a character is shown without, so that the journal takes it", () => {
  expect(judgePackage(lockedPackage({ licence: "a\0b\ud800" }), policy)?.licence).toBe("a b\ufffd");
});

describe("expressions of any shape", () => {
  const leaf = fc.constantFrom(
    "MIT",
    "Apache-2.0",
    "ISC",
    "GPL-3.0-only",
    "GPL-2.0-only+",
    "MIT WITH LLVM-exception",
  );
  const { expression } = fc.letrec<{ expression: string; pair: string }>((tie) => ({
    expression: fc.oneof({ maxDepth: 4 }, leaf, tie("pair")),
    pair: fc
      .tuple(tie("expression"), fc.constantFrom("AND", "OR"), tie("expression"))
      .map(([left, word, right]) => `(${left} ${word} ${right})`),
  }));
  const passes = (text: string): boolean => {
    const node = parseExpression(text);
    if (node === undefined) throw new Error(`the test made a bad expression: ${text}`);
    return judgeExpression(node, policy).outcome === "allowed";
  };

  test("OR passes if and only if one of its sides passes", () => {
    fc.assert(
      fc.property(expression, expression, (a, b) => passes(`(${a}) OR (${b})`) === (passes(a) || passes(b))),
    );
  });

  test("AND passes if and only if both of its sides pass", () => {
    fc.assert(
      fc.property(expression, expression, (a, b) => passes(`(${a}) AND (${b})`) === (passes(a) && passes(b))),
    );
  });

  test("whatever does not pass says why", () => {
    fc.assert(
      fc.property(expression, (text) => {
        const question = judgePackage(lockedPackage({ licence: text }), policy);
        return passes(text) ? question === undefined : (question?.why.length ?? 0) > 0;
      }),
    );
  });
});

describe("judgePackage", () => {
  test("a denied licence is a question with the policy's reason", () => {
    expect(judgePackage(lockedPackage({ licence: "GPL-3.0-only" }), policy)).toEqual({
      package: "spirit",
      version: "1.0.0",
      licence: "GPL-3.0-only",
      why: "GPL-3.0-only is denied: copyleft",
    });
  });

  test.each<[unknown, RegExp]>([
    [undefined, /names no licence/],
    ["UNLICENSED", /grants no rights/],
    ["SEE LICENSE IN x", /somebody must read/],
    ["Apache OR so", /no SPDX expression/],
    ["ISC", /ISC is not on the policy's lists/],
    ["MIT WITH Classpath-exception-2.0", /exception Classpath-exception-2.0 is not/],
  ])("%j leaves the question %s", (licence, why) => {
    expect(judgePackage(lockedPackage({ licence }), policy)?.why).toMatch(why);
  });

  test("the project's own packages are not judged, even UNLICENSED ones", () => {
    expect(judgePackage(lockedPackage({ kind: "workspace", licence: "UNLICENSED" }), policy)).toBeUndefined();
  });

  test("a package from git is a question even if it calls itself MIT, as nothing vouches for its content", () => {
    const git = lockedPackage({ kind: "git", resolved: "git+ssh://example.org/a.git#abc" });
    expect(judgePackage(git, policy)?.why).toContain("git+ssh://example.org/a.git#abc");
  });

  test("a review holds for its version and its licence only, so that a change of licence does not slip through", () => {
    const reviewed = [{ package: "spirit@1.0.0", licence: "ISC", reason: "read by Eve" }];
    const with1 = policyOf({ reviewed });
    expect(judgePackage(lockedPackage({ licence: "ISC" }), with1)).toBeUndefined();
    expect(judgePackage(lockedPackage({ licence: "ISC", version: "1.0.1" }), with1)).toBeDefined();
    expect(judgePackage(lockedPackage({ licence: "GPL-3.0-only" }), with1)?.why).toContain(
      'its licence read "ISC"',
    );
    const any = policyOf({ reviewed: [{ package: "@a/spirit@1.0.0", reason: "ours" }] });
    expect(judgePackage(lockedPackage({ name: "@a/spirit", kind: "git" }), any)).toBeUndefined();
  });
});

test("judgePackages asks once for a package that is installed twice, and sorts by name and version", () => {
  const of = (path: string, name: string, version: string) =>
    lockedPackage({ path, name, version, licence: "ISC" });
  const packages = [
    of("1", "b", "1.0.0"),
    of("2", "a", "2.0.0"),
    of("3", "a", "1.0.0"),
    of("4", "b", "1.0.0"),
  ];
  const questions = judgePackages([...packages, lockedPackage()], policy);
  expect(questions.map(({ package: name, version }) => `${name}@${version}`)).toEqual([
    "a@1.0.0",
    "a@2.0.0",
    "b@1.0.0",
  ]);
});
