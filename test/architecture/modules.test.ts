import { describe, expect, it } from "vitest";
import { barrels, cycles, deepImports, ownIndexImports } from "./modules.ts";
import { folderOf, packageOf, readPackages, readSources, type Source } from "./sources.ts";

const sources = readSources();
const packages = readPackages();
const inPackages = sources.filter(({ path }) => folderOf(path) !== undefined);

describe("the modules", () => {
  it("are found, those of every package", () => {
    for (const { folder } of packages)
      expect(inPackages.some(({ path }) => folderOf(path) === folder)).toBe(true);
  });

  it("import each other in no cycle, types included", () => {
    expect(cycles(sources)).toEqual([]);
  });

  it("do not import the index of their own package", () => {
    expect(ownIndexImports(sources, packages)).toEqual([]);
  });

  it("reach other packages by their entries only", () => {
    expect(deepImports(sources, packages)).toEqual([]);
  });

  it("have a barrel nowhere but in a package's index.ts", () => {
    expect(barrels(sources)).toEqual([]);
  });
});

describe("the check of the modules", () => {
  const file = (path: string, text: string): Source => ({ path: `packages/core/src/${path}`, text });
  const small = [
    packageOf("core", {
      name: "@ghouls/core",
      exports: { ".": "./src/index.ts", "./wire": "./src/wire.ts" },
    }),
    packageOf("cli", { name: "@ghouls/cli", exports: { ".": "./src/index.ts" } }),
  ];

  it("finds a cycle over three files, through types and folders as well", () => {
    const ring = [
      file("a.ts", `import { b } from "./deep/b.ts"; export const a = b;`),
      file("deep/b.ts", `export { c as b } from "../c.ts";`),
      file("c.ts", `import type { a } from "./a.ts"; export const c: typeof a = 1;`),
    ];
    const paths = ["a.ts", "deep/b.ts", "c.ts", "a.ts"].map((path) => `packages/core/src/${path}`);
    expect(cycles(ring)).toEqual([paths]);
    expect(cycles([file("a.ts", `import "./a.ts";`)])).toHaveLength(1);
  });

  it("takes a diamond and a way back by import() for no cycle", () => {
    const diamond = [
      file("a.ts", `import "./b.ts"; import "./c.ts";`),
      file("b.ts", `import "./d.ts";`),
      file("c.ts", `import "./d.ts";`),
      file("d.ts", `export const a = () => import("./a.ts");`),
    ];
    expect(cycles(diamond)).toEqual([]);
  });

  it("finds an import of the own index, by path and by name", () => {
    const own = [
      file("a.ts", `import { a } from "./index.ts"; import { b } from "@ghouls/core";`),
      file("deep/b.ts", `import { a } from "../index.ts"; import { c } from "./index.ts";`),
    ];
    expect(ownIndexImports(own, small)).toEqual([
      "packages/core/src/a.ts imports ./index.ts",
      "packages/core/src/a.ts imports @ghouls/core",
      "packages/core/src/deep/b.ts imports ../index.ts",
    ]);
  });

  it("finds an import past the entries of a package", () => {
    const path = "packages/cli/src/a.ts";
    const found = (specifier: string) =>
      deepImports([{ path, text: `import "${specifier}";` }], small).length;
    expect(["@ghouls/core/src/run.ts", "@ghouls/core/run", "@ghouls/cli/src/io.ts"].map(found)).toEqual([
      1, 1, 1,
    ]);
    expect(["@ghouls/core", "@ghouls/core/wire", "zod/v4"].map(found)).toEqual([0, 0, 0]);
  });

  it("finds a barrel, and takes a file with anything of its own for none", () => {
    expect(
      barrels([file("deep/index.ts", `export * from "./a.ts"; export type { B } from "./b.ts";`)]),
    ).toEqual(["packages/core/src/deep/index.ts"]);
    expect(
      barrels([
        file("index.ts", `export * from "./a.ts";`),
        file("a.ts", `import { b } from "./b.ts"; export const A = [b];`),
        file("c.ts", `export * from "./a.ts"; export const c = 1;`),
      ]),
    ).toEqual([]);
  });
});
