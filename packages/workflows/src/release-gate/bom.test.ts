import * as z from "zod";
import { expect, test } from "vitest";
import { bomFault, buildBom } from "./bom.ts";
import { lockfileText, policyOf } from "./fixtures.ts";
import { nearestLockfile, parseLockfile, readLockfile } from "./lockfile.ts";
import { readPolicy, SHIPPED_POLICY } from "./policy.ts";

const identity = {
  serialNumber: "5f6bf0da-5469-48fb-8a0c-712290865470",
  timestamp: new Date("2026-11-29T12:00:00Z"),
};
const Component = z.looseObject({ "bom-ref": z.string(), name: z.string() });
const Bom = z.looseObject({
  serialNumber: z.string(),
  metadata: z.looseObject({ timestamp: z.string() }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
});
const built = (packages: Record<string, unknown>) =>
  buildBom(parseLockfile(lockfileText(packages), "l.json"), policyOf(), identity);
const component = (entry: Record<string, unknown>, path = "node_modules/a") =>
  Bom.parse(JSON.parse(built({ [path]: { version: "1.0.0", ...entry } }))).components[0];

test("the bom of this repository is valid CycloneDX 1.6, complete, and the same bytes each time", async () => {
  const lockfile = await readLockfile(nearestLockfile(import.meta.url));
  const { policy } = await readPolicy(SHIPPED_POLICY);
  const text = buildBom(lockfile, policy, identity);
  expect(await bomFault(text)).toBeUndefined();
  expect(buildBom(lockfile, policy, identity)).toBe(text);
  const bom = Bom.parse(JSON.parse(text));
  expect(bom.serialNumber).toBe(`urn:uuid:${identity.serialNumber}`);
  expect(bom.metadata.timestamp).toBe("2026-11-29T12:00:00.000Z");
  expect(new Set(bom.components.map((found) => found["bom-ref"]))).toEqual(
    new Set(lockfile.packages.map(({ path }) => path)),
  );
});

test("the validator finds a wrong bom: the check can fail", async () => {
  const bom = Bom.parse(JSON.parse(built({ "node_modules/a": { version: "1.0.0" } })));
  const wrong = { ...bom, components: [{ type: "ghost", name: "a" }] };
  expect(await bomFault(JSON.stringify(wrong))).toMatch(/components/);
});

test("a component carries group, package URL, hash in hex and scope", () => {
  const digest = Buffer.alloc(64, 171);
  const found = component(
    { integrity: `sha512-${digest.toString("base64")}`, optional: true, inBundle: true },
    "node_modules/@s/a",
  );
  expect(found).toMatchObject({
    "bom-ref": "node_modules/@s/a",
    group: "@s",
    name: "a",
    purl: "pkg:npm/%40s/a@1.0.0",
    scope: "optional",
    hashes: [{ alg: "SHA-512", content: "ab".repeat(64) }],
    properties: [{ name: "cdx:npm:package:bundled", value: "true" }],
  });
  expect(component({ dev: true })).toMatchObject({ scope: "excluded" });
  expect(component({ integrity: "rubbish" })).not.toHaveProperty("hashes");
});

test.each<[unknown, unknown]>([
  ["MIT", [{ license: { id: "MIT" } }]],
  ["Apache 2.0", [{ license: { id: "Apache-2.0" } }]],
  ["(MIT OR ISC)", [{ expression: "(MIT OR ISC)" }]],
  [[{ type: "MIT" }, { type: "ISC" }], [{ expression: "(MIT) OR (ISC)" }]],
  ["SEE LICENSE IN x", [{ license: { name: "SEE LICENSE IN x" } }]],
  ["UNLICENSED", [{ license: { name: "UNLICENSED" } }]],
  ["no such", [{ license: { name: "no such" } }]],
  [undefined, undefined],
])("licence %j is stated as %j, and a choice never as a name", async (license, licenses) => {
  expect(component({ license })?.["licenses"]).toEqual(licenses);
  expect(await bomFault(built({ "node_modules/a": { version: "1.0.0", license } }))).toBeUndefined();
});

test("a package URL claims the registry only for what came from there", () => {
  const git = component({ resolved: "git+ssh://git@example.org/a.git#0f" });
  expect(git?.["purl"]).toBe("pkg:npm/a@1.0.0?vcs_url=git%2Bssh%3A%2F%2Fexample.org%2Fa.git%230f");
  expect(component({}, "packages/own")).not.toHaveProperty("purl");
  expect(component({ resolved: "file:a.tgz" })).not.toHaveProperty("purl");
});

test("dependencies name the package that would be loaded", () => {
  const bom = built({
    "": { name: "manor", dependencies: { a: "1" } },
    "node_modules/a": { version: "1.0.0", dependencies: { b: "1" } },
    "node_modules/b": { version: "1.0.0" },
  });
  expect(Bom.parse(JSON.parse(bom)).dependencies).toEqual([
    { ref: ".", dependsOn: ["node_modules/a"] },
    { ref: "node_modules/a", dependsOn: ["node_modules/b"] },
    { ref: "node_modules/b" },
  ]);
});
