import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, test } from "vitest";
import { buildFunctions } from "./functions.ts";
import { askedOf, outsideFiles } from "./outside.ts";
import { CONFIG, folder, project } from "./project.support.ts";

const manifest = (name: string, more: object) => JSON.stringify({ name, version: "1.0.0", ...more });
const ESM = (word: string) => `export const word = "${word}";\n`;
const CJS = (word: string) => `exports.word = "${word}";\n`;

const PACKAGES = {
  "node_modules/dual/package.json": manifest("dual", {
    exports: {
      ".": { import: "./esm/index.mjs", require: "./cjs/index.cjs" },
      "./sub": { import: "./esm/sub.mjs", require: "./cjs/sub.cjs" },
    },
  }),
  "node_modules/dual/esm/index.mjs": ESM("import"),
  "node_modules/dual/esm/sub.mjs": ESM("sub"),
  "node_modules/dual/cjs/index.cjs": CJS("require"),
  "node_modules/dual/cjs/sub.cjs": CJS("required sub"),
  "node_modules/modern/package.json": manifest("modern", {
    type: "module",
    exports: { ".": { import: "./i.js" } },
  }),
  "node_modules/modern/i.js": ESM("modern"),
  // As pnpm lays packages out: a link at the top, and what it needs beside the real one.
  "node_modules/.pnpm/strict@1/node_modules/strict/package.json": manifest("strict", { main: "i.js" }),
  "node_modules/.pnpm/strict@1/node_modules/strict/i.js": `exports.word = require("needed").word;\n`,
  "node_modules/.pnpm/needed@1/node_modules/needed/package.json": manifest("needed", { main: "i.js" }),
  "node_modules/.pnpm/needed@1/node_modules/needed/i.js": CJS("needed"),
};

async function withLinks(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await project({ ...PACKAGES, ...files });
  const lib = await folder({
    "package.json": manifest("lib", { main: "src/i.cjs" }),
    "src/i.cjs": `exports.word = require("node:fs").readFileSync(require("node:path").join(__dirname, "word.txt"), "utf8");\n`,
    "src/word.txt": "linked",
  });
  await symlink(lib, join(root, "node_modules/lib"));
  await symlink(".pnpm/strict@1/node_modules/strict", join(root, "node_modules/strict"));
  const store = join(root, "node_modules/.pnpm/strict@1/node_modules");
  await symlink("../../needed@1/node_modules/needed", join(store, "needed"));
  return root;
}

it("what stays outside is found where a function lies alone, as the bundle imports it", async () => {
  const root = await withLinks({
    "words.ts": `import { createRequire } from "node:module";
import { word as dual } from "dual";
import { word as sub } from "dual/sub";
import { word as modern } from "modern";
import strict from "strict";
import lib from "lib";
const late = await import("dual");
console.log([dual, sub, modern, strict.word, lib.word, late.word].join());
`,
    "ghouls.config.ts": `import "./words.ts";\n${CONFIG.replace("workflows: [hello]", 'workflows: [hello], build: { external: ["dual", "modern", "strict", "lib"] }')}`,
  });
  const built = await buildFunctions({ config: join(root, "ghouls.config.ts"), out: join(root, "built") });
  const away = await folder();
  await cp(built.functions.find(({ entry }) => entry === "worker")?.folder ?? "", away, { recursive: true });
  const load = `await import(${JSON.stringify(pathToFileURL(join(away, "index.mjs")).href)})`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", load], {
    encoding: "utf8",
    cwd: away,
  });
  expect(stdout.trim(), stderr).toBe("import,sub,modern,needed,linked,import");
  const modules = await readdir(join(away, "node_modules"), { recursive: true, withFileTypes: true });
  expect(modules.filter((one) => one.isSymbolicLink())).toEqual([]);
  // What nobody asks for is not deployed.
  expect(modules.map(({ name }) => name)).not.toContain("sub.cjs");
});

const targets = async (
  root: string,
  packages: readonly string[],
  asked: Parameters<typeof outsideFiles>[1],
) => (await outsideFiles(packages, asked, root)).map(({ to }) => to);

test("a package that is required is there as it is required", async () => {
  const root = await withLinks({});
  const asked = [{ specifier: "dual", as: "require", importer: join(root, "a.cjs") }] as const;
  expect(await targets(root, ["dual"], asked)).toEqual([
    "node_modules/dual/cjs/index.cjs",
    "node_modules/dual/package.json",
  ]);
});

test("a project that is reached through a link has the same files", async () => {
  const root = await withLinks({});
  const link = join(await folder(), "link");
  await symlink(root, link);
  const asked = [{ specifier: "strict", as: "import", importer: join(link, "a.ts") }] as const;
  expect(await targets(link, ["strict"], asked)).toEqual([
    "node_modules/needed/i.js",
    "node_modules/needed/package.json",
    "node_modules/strict/i.js",
    "node_modules/strict/package.json",
  ]);
});

test("a package that no import names is there both ways: something loads it by its name", async () => {
  const root = await withLinks({});
  expect(await targets(root, ["dual"], [])).toEqual([
    "node_modules/dual/cjs/index.cjs",
    "node_modules/dual/esm/index.mjs",
    "node_modules/dual/package.json",
  ]);
  expect(await targets(root, ["modern"], [])).toContain("node_modules/modern/i.js");
});

test("a subpath that a package does not have is refused by name", async () => {
  const root = await withLinks({});
  const asked = [{ specifier: "dual/none", as: "import", importer: join(root, "a.ts") }] as const;
  await expect(outsideFiles(["dual"], asked, root)).rejects.toMatchObject({
    code: "configuration_invalid",
    message: expect.stringContaining("dual/none is not installed"),
  });
});

test("two versions that the bundle itself imports are refused: both would be one", async () => {
  const root = await withLinks({
    "node_modules/old/node_modules/modern/package.json": manifest("modern", { main: "i.cjs" }),
    "node_modules/old/node_modules/modern/i.cjs": CJS("old"),
  });
  const from = (importer: string) =>
    ({ specifier: "modern", as: "import", importer: join(root, importer) }) as const;
  const asked = [from("a.ts"), from("node_modules/old/i.js")];
  await expect(outsideFiles(["modern"], asked, root)).rejects.toThrow("two versions of one package");
});

test("a file of another package that is only read lies beside that package's name", async () => {
  const root = await withLinks({
    "node_modules/reader/package.json": manifest("reader", { main: "i.js" }),
    "node_modules/reader/i.js": `exports.word = require("node:fs").readFileSync(require("node:path").join(__dirname, "../texts/a.txt"), "utf8");\n`,
    "node_modules/texts/package.json": manifest("texts", {}),
    "node_modules/texts/a.txt": "a",
  });
  await mkdir(join(root, "empty"));
  expect(await targets(root, ["reader"], [])).toContain("node_modules/texts/a.txt");
});

test("an import that is in no output is not asked for", () => {
  const imports = [{ path: "dual", kind: "import-statement", external: true }] as const;
  const inputs = { "a.ts": { bytes: 1, imports: [...imports] } };
  const output = (left: boolean) => ({
    "index.mjs": { bytes: 1, inputs: {}, exports: [], imports: left ? [...imports] : [] },
  });
  expect(askedOf([{ inputs, outputs: output(true) }], ["dual"], "/p")).toEqual([
    { specifier: "dual", as: "import", importer: "/p/a.ts" },
  ]);
  expect(askedOf([{ inputs, outputs: output(false) }], ["dual"], "/p")).toEqual([]);
});
