import { describe, expect, it } from "vitest";
import {
  floorViolations,
  manifestViolations,
  mayImport,
  unusedExceptions,
  type Exception,
  type Floor,
} from "./floors.ts";
import { packageOf, readPackages, readSources } from "./sources.ts";

/** design.md §7. A package imports only from floors below, within floor 4 only from those to its left. */
const FLOORS: readonly Floor[] = [
  { number: 5, packages: ["workflows"], leftwards: false },
  {
    number: 4,
    packages: ["ghouls", "functions", "console", "local", "testing", "cli", "localstack-utils"],
    leftwards: true,
  },
  { number: 3, packages: ["api"], leftwards: false },
  { number: 2, packages: ["engine"], leftwards: false },
  { number: 1, packages: ["ledger", "aws", "client"], leftwards: false },
  { number: 0, packages: ["core"], leftwards: false },
];

/**
 * The exceptions of design.md §7: `functions` reaches the configuration, and the digests made of it, by aliases that the
 * build sets; the bin of `ghouls` loads `@ghouls/cli`, and `cli` loads `@ghouls/local`, by `import()`.
 */
const EXCEPTIONS: readonly Exception[] = [
  { files: "packages/functions/src/", specifier: "#config", kind: "static" },
  { files: "packages/functions/src/", specifier: "#manifest", kind: "static" },
  { files: "packages/functions/src/", specifier: "#releases", kind: "static" },
  { files: "packages/ghouls/bin/ghouls.mjs", specifier: "@ghouls/cli", kind: "dynamic" },
  { files: "packages/cli/src/", specifier: "@ghouls/local", kind: "dynamic" },
];
/** What these exceptions come to in a package.json. The second is an optional peer: users choose it. */
const DEPENDENCY_EXCEPTIONS = [
  { from: "ghouls", to: "@ghouls/cli" },
  { from: "@ghouls/cli", to: "@ghouls/local" },
];

const sources = readSources();
const packages = readPackages();

describe("the floors", () => {
  it("have a place for every package", () => {
    const placed = FLOORS.flatMap((floor) => floor.packages);
    expect(packages.map(({ folder }) => folder).filter((folder) => !placed.includes(folder))).toEqual([]);
  });

  it("let no import lead upwards, sideways or around them", () => {
    expect(floorViolations(sources, packages, FLOORS, EXCEPTIONS)).toEqual([]);
  });

  it("have no exception that nothing needs", () => {
    expect(unusedExceptions(sources, EXCEPTIONS)).toEqual([]);
  });

  it("agree with what each package.json depends on", () => {
    expect(manifestViolations(sources, packages, FLOORS, DEPENDENCY_EXCEPTIONS)).toEqual([]);
  });

  it("leave @ghouls/local to the users of the command", () => {
    const cli = packages.find(({ name }) => name === "@ghouls/cli");
    expect(cli?.dependencies).not.toContain("@ghouls/local");
    expect(cli?.optionalPeers).toContain("@ghouls/local");
  });
});

describe("the check of the floors", () => {
  const small = [
    packageOf("core", { name: "@ghouls/core" }),
    packageOf("aws", { name: "@ghouls/aws", dependencies: { "@ghouls/core": "1", "@ghouls/ledger": "1" } }),
    packageOf("ledger", { name: "@ghouls/ledger" }),
    packageOf("engine", { name: "@ghouls/engine", devDependencies: { ghouls: "1" } }),
    packageOf("ghouls", { name: "ghouls" }),
    packageOf("cli", { name: "@ghouls/cli" }),
  ];
  const found = (path: string, text: string) =>
    floorViolations([{ path, text }], small, FLOORS, EXCEPTIONS).length;

  it("knows what lies below and to the left", () => {
    expect(mayImport(FLOORS, "engine", "core")).toBe(true);
    expect(mayImport(FLOORS, "core", "engine")).toBe(false);
    expect(mayImport(FLOORS, "cli", "ghouls")).toBe(true);
    expect(mayImport(FLOORS, "ghouls", "cli")).toBe(false);
    expect(mayImport(FLOORS, "aws", "ledger")).toBe(false);
    expect(mayImport(FLOORS, "client", "aws")).toBe(false);
    expect(mayImport(FLOORS, "core", "core")).toBe(false);
    expect(mayImport(FLOORS, "unknown", "core")).toBe(false);
  });

  it("finds an import upwards in every form of it", () => {
    const path = "packages/core/src/a.ts";
    expect(found(path, `import { a } from "@ghouls/engine";`)).toBe(1);
    expect(found(path, `import type { A } from "@ghouls/engine";`)).toBe(1);
    expect(found(path, `export * from "@ghouls/engine";`)).toBe(1);
    expect(found(path, `export { a } from "@ghouls/engine";`)).toBe(1);
    expect(found(path, `type A = import("@ghouls/engine").A;`)).toBe(1);
    expect(found(path, `const a = await import("@ghouls/engine/deep");`)).toBe(1);
    expect(found(path, `import config from "#config";`)).toBe(1);
    expect(found(path, `import { a } from "../../engine/src/a.ts";`)).toBe(1);
    expect(found(path, `import { a } from "../../../test/support/a.ts";`)).toBe(1);
    expect(found("packages/aws/src/a.ts", `import { a } from "@ghouls/ledger";`)).toBe(1);
  });

  it("takes what is below, what is the package's own, and what is not ours", () => {
    const text = `import { a } from "@ghouls/core"; import { b } from "./b.ts"; import pg from "pg";
      // import { c } from "@ghouls/cli";
      export const text = 'import "@ghouls/cli"';`;
    expect(found("packages/engine/src/a.ts", text)).toBe(0);
    expect(found("packages/core/src/a.test.ts", `import { a } from "../../../test/support/a.ts";`)).toBe(0);
  });

  it("takes an exception only from its file and in its form", () => {
    const load = `import("@ghouls/cli");`;
    expect(found("packages/ghouls/bin/ghouls.mjs", load)).toBe(0);
    expect(found("packages/ghouls/bin/ghouls.mjs", `import { run } from "@ghouls/cli";`)).toBe(1);
    expect(found("packages/ghouls/src/index.ts", load)).toBe(1);
    expect(
      unusedExceptions([{ path: "packages/ghouls/bin/ghouls.mjs", text: load }], EXCEPTIONS),
    ).toHaveLength(4);
  });

  it("finds a dependency that the floors forbid, and an import that is not declared", () => {
    const text = `import { a } from "@ghouls/ledger";`;
    expect(
      manifestViolations([{ path: "packages/engine/src/a.ts", text }], small, FLOORS, DEPENDENCY_EXCEPTIONS),
    ).toEqual([
      "@ghouls/aws depends on @ghouls/ledger",
      "@ghouls/engine depends on ghouls",
      "packages/engine/src/a.ts imports @ghouls/ledger, which @ghouls/engine does not declare",
    ]);
  });
});
