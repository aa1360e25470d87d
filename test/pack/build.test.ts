import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compile, danglingImports, rewriteDeclaration } from "../../.ci/build-compile.ts";
import { manifestProblems, publishedManifest, type Manifest } from "../../.ci/build-manifest.ts";
import { ROOT, privatePaths, strangeFiles, undeclaredImports } from "./packed.ts";
import { write } from "./project.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ghouls-build-test-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const manifest: Manifest = {
  name: "@ghouls/a",
  version: "1.0.0",
  exports: { ".": "./src/index.ts", "./b": "./src/deep/b.ts" },
  imports: { "#config": "./src/config.ts" },
  bin: { a: "./bin/a.mjs" },
  dependencies: { "@ghouls/core": "1.0.0", pg: "^8.0.0" },
  devDependencies: { vitest: "^5.0.0" },
  engines: { node: ">=24" },
};
const core: Manifest = { name: "@ghouls/core", version: "1.0.0", engines: { node: ">=24" } };

describe("the package.json that is published", () => {
  it("names built files, and nothing that only the repository needs", () => {
    expect(publishedManifest(manifest)).toEqual({
      name: "@ghouls/a",
      version: "1.0.0",
      exports: {
        ".": { types: "./lib/index.d.ts", default: "./lib/index.js" },
        "./b": { types: "./lib/deep/b.d.ts", default: "./lib/deep/b.js" },
      },
      imports: { "#config": { types: "./lib/config.d.ts", default: "./lib/config.js" } },
      bin: { a: "./bin/a.mjs" },
      dependencies: { "@ghouls/core": "1.0.0", pg: "^8.0.0" },
      engines: { node: ">=24" },
      files: ["bin", "lib"],
      publishConfig: { access: "public" },
    });
  });

  it("refuses an entry that is no source", () => {
    expect(() => publishedManifest({ ...core, exports: { ".": "./dist/index.js" } })).toThrow(
      "./dist/index.js",
    );
  });

  it("agrees with the others on one version, kept exact, and on Node", () => {
    expect(manifestProblems([manifest, core], "1.0.0")).toEqual([]);
    expect(manifestProblems([manifest], "1.0.0")).toEqual([
      "@ghouls/a: depends on @ghouls/core, which is not published",
    ]);
    const loose = { ...manifest, dependencies: { "@ghouls/core": "^1.0.0" }, engines: {} };
    expect(manifestProblems([loose, { ...core, version: "1.0.1" }], "1.0.0")).toEqual([
      '@ghouls/a: engines.node is not ">=24"',
      "@ghouls/a: wants @ghouls/core ^1.0.0, not exactly 1.0.0",
      "@ghouls/core: version 1.0.1, not 1.0.0",
    ]);
  });
});

describe("the compiler", () => {
  const sources = "packages/a/src";
  const repository = {
    "package.json": `{ "type": "module" }`,
    "tsconfig.json": readFileSync(join(ROOT, "tsconfig.json"), "utf8"),
  };

  it("leaves tests out, and leads every import to a built file", () => {
    write(folder, {
      ...repository,
      [`${sources}/index.ts`]: `export type { B } from "./deep/b.ts";
export const b = async () => (await import("./deep/b.ts")).b;`,
      [`${sources}/deep/b.ts`]: `export interface B { readonly b: number }\nexport const b: B = { b: 1 };`,
      [`${sources}/b.test.ts`]: `export const test = 1;`,
      [`${sources}/b.support.ts`]: `export const support = 1;`,
    });
    const out = join(folder, "out");
    compile(folder, ["a"], out, ROOT);
    const built = join(out, "a/src");
    expect(existsSync(join(built, "deep/b.js"))).toBe(true);
    expect(existsSync(join(built, "b.test.js")) || existsSync(join(built, "b.support.js"))).toBe(false);
    expect(danglingImports(join(built, "index.js"), built)).toEqual([]);
    const declaration = join(built, "index.d.ts");
    expect(danglingImports(declaration, built)).not.toEqual([]);
    const rewritten = rewriteDeclaration(declaration, readFileSync(declaration, "utf8"));
    write(built, { "index.d.ts": rewritten });
    expect(danglingImports(declaration, built)).toEqual([]);
  });

  it("says what is wrong, and leaves nothing behind", () => {
    write(folder, {
      ...repository,
      [`${sources}/index.ts`]: `export const a: number = "a";`,
    });
    const out = join(folder, "out");
    expect(() => compile(folder, ["a"], out, ROOT)).toThrow(/tsc refused.*\n.*index\.ts.*TS2322/s);
    expect(existsSync(join(out, "a"))).toBe(false);
  });
});

describe("a declaration", () => {
  it("gets the built extension in each form of import, and in no other text", () => {
    const text = `import type { A } from "./a.ts"; export * from '../b.mts';
export declare const c: import("./deep/c.ts").C; export { D } from "./d.d.ts"; import "pg";
// from "./e.ts"
export declare const text = 'import "./f.ts"';`;
    expect(rewriteDeclaration("x.d.ts", text)).toBe(
      `import type { A } from "./a.js"; export * from "../b.mjs";
export declare const c: import("./deep/c.js").C; export { D } from "./d.d.ts"; import "pg";
// from "./e.ts"
export declare const text = 'import "./f.ts"';`,
    );
  });
});

describe("the checks of what is packed", () => {
  it("find files that no user has a use for", () => {
    const bad = [
      "lib/a.test.js",
      "lib/fakes.support.d.ts",
      "lib/a.ts",
      "src/a.js",
      "lib/.env",
      "tsconfig.json",
      "lib/test/a.js",
    ];
    expect(
      strangeFiles([...bad, "lib/deep/a-b.js", "lib/a.d.ts", "bin/a.mjs", "README.md", "package.json"]),
    ).toEqual(bad);
  });

  it("find a path of the machine", () => {
    expect(privatePaths('const a = 1;\nconst b = "/srv/build/b.ts";', ["/srv/build"])).toHaveLength(1);
    expect(privatePaths("const a = 1;", ["/srv/build"])).toEqual([]);
  });

  it("find an import that the package does not declare, in code and in types", () => {
    const found = (file: string, text: string) => undeclaredImports(manifest, file, text).length;
    expect(found("lib/a.js", `import "zod";`)).toBe(1);
    expect(found("lib/a.js", `await import("vitest");`)).toBe(1);
    expect(found("lib/a.d.ts", `export type A = import("zod/v4").A;`)).toBe(1);
    expect(found("bin/a.mjs", `import "#other";`)).toBe(1);
    expect(found("lib/a.js", `import "pg/lib"; import "node:fs"; import "#config"; import "./b.js";`)).toBe(
      0,
    );
    expect(found("README.md", `import "zod";`)).toBe(0);
  });
});
