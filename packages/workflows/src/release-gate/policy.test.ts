import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NonRetryableError } from "ghouls";
import { describe, expect, test } from "vitest";
import { policyOf, temporaryFolder } from "./fixtures.ts";
import { judgePackages } from "./licences.ts";
import { nearestLockfile, readLockfile } from "./lockfile.ts";
import { parsePolicy, readPolicy, SHIPPED_POLICY } from "./policy.ts";

describe("a policy file that is wrong is refused with the place", () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ["an id that SPDX does not know", { allowed: ["MTI"] }, /allowed\.0: is no SPDX licence id/],
    ["an expression in place of an id", { allowed: ["MIT OR ISC"] }, /write one id an entry/],
    ["an empty list, by which nothing could pass", { allowed: [] }, /allowed/],
    ["an id on both lists", { denied: ["MIT"] }, /MIT is allowed and denied/],
    ["an exception that SPDX does not know", { allowedExceptions: ["LLVM"] }, /neither an SPDX exception/],
    ["a licence as an exception", { allowedExceptions: ["MIT"] }, /neither an SPDX exception/],
    [
      "an alias for something that is no expression",
      { aliases: { x: "Apache 2" } },
      /aliases\.x: must be an SPDX/,
    ],
    ["a review without a reason", { reviewed: [{ package: "a@1", reason: " " }] }, /reviewed\.0\.reason/],
    ["a review without a version", { reviewed: [{ package: "a", reason: "x" }] }, /name@version/],
    ["a key that is spelled wrong, which would allow nothing", { alowed: [] }, /alowed/],
  ])("%s", (_, changes, message) => {
    expect(() => policyOf(changes)).toThrow(message);
    expect(() => policyOf(changes)).toThrow(NonRetryableError);
  });

  test("text that is not JSON", () => {
    expect(() => parsePolicy("{", "p.json")).toThrow(/p\.json is not JSON/);
  });
});

test("an alias goes before an id of that spelling, so that an old id can be read as a new one", () => {
  const policy = policyOf({ denied: ["GPL-2.0", "GPL-2.0-only"], aliases: { "GPL-2.0": "GPL-2.0-only" } });
  expect(policy.aliases.get("gpl-2.0")).toBe("GPL-2.0-only");
});

test("a policy requires integrities unless it says otherwise", () => {
  expect(policyOf().requireIntegrity).toBe(true);
  expect(policyOf({ requireIntegrity: false }).requireIntegrity).toBe(false);
});

test("readPolicy tells the digest of the file, and what to do where there is none", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "policy.json");
  await writeFile(path, '{"name":"n","allowed":["MIT"]}');
  const read = await readPolicy(path);
  expect(read.policy.allowed).toEqual(new Set(["MIT"]));
  expect(read.sha256).toMatch(/^[0-9a-f]{64}$/);
  await expect(readPolicy(join(folder, "none.json"))).rejects.toThrow(
    /none\.json cannot be read.*Leave "policy" away/,
  );
});

test("the shipped policy lets this repository pass, and gives a reason for each denied licence", async () => {
  const { policy } = await readPolicy(SHIPPED_POLICY);
  const { packages } = await readLockfile(nearestLockfile(import.meta.url));
  expect(judgePackages(packages, policy)).toEqual([]);
  expect([...policy.denied].filter(([, reason]) => reason === undefined)).toEqual([]);
});
