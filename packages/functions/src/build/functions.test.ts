import { spawnSync } from "node:child_process";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { digestManifest, loadConfig } from "ghouls";
import { buildFunctions, type Built } from "./functions.ts";
import { CONFIG, HELLO, folder, project } from "./project.support.ts";
import { buildSources } from "./sources.ts";

const build = (root: string, out = "built") =>
  buildFunctions({ config: join(root, "ghouls.config.ts"), out: join(root, out) });

describe("a build", () => {
  let root: string;
  let first: Built;
  beforeAll(async () => {
    root = await project({ "kept/notes.txt": "mine" });
    first = await build(root);
  });

  it("makes a folder for each function that Lambda can load, with the digests in it", async () => {
    expect(first.functions.map(({ entry }) => entry)).toEqual([
      "admission",
      "api",
      "events",
      "worker",
      "reconciler",
      "migrate",
      "preflight",
      "egress",
    ]);
    const { config } = await loadConfig(join(root, "ghouls.config.ts"));
    expect(first.workflows).toEqual(await digestManifest(config));
    for (const { folder, bytes } of first.functions) {
      expect(bytes).toBeGreaterThan(100_000);
      const module = (await import(pathToFileURL(join(folder, "index.mjs")).href)) as { handler: unknown };
      expect(module.handler).toBeTypeOf("function");
    }
    const worker = first.functions.find(({ entry }) => entry === "worker")?.folder ?? "";
    const texts = await Promise.all(
      (await readdir(worker)).map((file) => readFile(join(worker, file), "utf8")),
    );
    expect(texts.join("")).toContain(first.workflows["hello@1"]);
  });

  it("puts nothing of the ledger, its driver or AWS's SDK into what asks services", async () => {
    const textOf = async (entry: string) => {
      const folder = first.functions.find((one) => one.entry === entry)?.folder ?? "";
      const files = await readdir(folder);
      return (await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")))).join("");
    };
    const [egress, worker] = [await textOf("egress"), await textOf("worker")];
    // Each is in a function that has a ledger: the words are the right ones.
    for (const word of ["deliveries", "LedgerError", "pg-pool", "DATABASE_URL", "PostgreSQL", "smithy"]) {
      expect(worker).toContain(word);
      expect(egress).not.toContain(word);
    }
    expect(egress.length).toBeLessThan(250_000);
  });

  it("is the same for the same sources, wherever it is put, and another after a change", async () => {
    const away = await folder();
    const config = join(root, "ghouls.config.ts");
    expect((await buildFunctions({ config, out: join(away, "one") })).build).toBe(first.build);
    await writeFile(join(root, "hello.ts"), HELLO.replace("evening", "morning"));
    // A process imports a module once, so the digest is that of the one before: what changed is the bundle.
    const changed = await buildFunctions({ config, out: join(away, "one") });
    expect(changed.build).not.toBe(first.build);
    await writeFile(join(root, "hello.ts"), HELLO);
  });

  it("replaces what an earlier build left once it is whole; one that fails leaves that as it is", async () => {
    await writeFile(join(root, "built", "stale.mjs"), "");
    await writeFile(
      join(root, "ghouls.config.ts"),
      `${CONFIG}export const late = () => import("./nowhere.ts");\n`,
    );
    await expect(build(root)).rejects.toMatchObject({ code: "configuration_invalid" });
    expect(await readdir(join(root, "built"))).toContain("stale.mjs");
    await writeFile(join(root, "ghouls.config.ts"), CONFIG);
    expect((await build(root)).build).toBe(first.build);
    expect(await readdir(join(root, "built"))).toEqual([
      ".ghouls-build",
      "admission",
      "api",
      "egress",
      "events",
      "migrate",
      "preflight",
      "reconciler",
      "releases",
      "worker",
    ]);
    // Nothing of the builds lies about beside it.
    expect(await readdir(root)).toEqual([
      "built",
      "ghouls.config.ts",
      "hello.ts",
      "kept",
      "node_modules",
      "package.json",
    ]);
    await expect(build(root, "kept")).rejects.toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining("--out"),
    });
    expect(await readFile(join(root, "kept/notes.txt"), "utf8")).toBe("mine");
  });

  it("names an import of the user's own that leads nowhere", async () => {
    const root = await project({
      "late.ts": `export const load = () => import("./nowhere.ts");`,
      "ghouls.config.ts": CONFIG.replace(
        "export default",
        `export { load } from "./late.ts";\nexport default`,
      ),
    });
    const refused = await build(root).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining("nowhere.ts"),
    });
  });

  it("names the package of a binary, which cannot be bundled, with what to do", async () => {
    const root = await project({
      "node_modules/@swift/hash/package.json": '{"name":"@swift/hash","main":"index.js"}',
      "node_modules/@swift/hash/index.js": 'module.exports = require("./build/hash.node");',
      "node_modules/@swift/hash/build/hash.node": "",
      "late.ts": `export const load = () => import("@swift/hash");`,
      "ghouls.config.ts": `${CONFIG}export { load } from "./late.ts";\n`,
    });
    await expect(build(root)).rejects.toMatchObject({
      code: "configuration_invalid",
      fix: expect.stringContaining('name it in build: { external: ["@swift/hash"] }'),
    });
  });

  it("means by the user's code what Node does, whatever a tsconfig.json says", async () => {
    const root = await project({
      "tsconfig.json": '{"compilerOptions":{"useDefineForClassFields":false}}',
      "fields.ts": `class A { set x(value: number) { throw new Error("the setter of " + value); } }
class B extends A { x = 1; }
if (process.env["AWS_LAMBDA_FUNCTION_NAME"] !== undefined) new B();`,
      "ghouls.config.ts": `import "./fields.ts";\n${CONFIG}`,
    });
    expect((await build(root)).functions).toHaveLength(8);
  });

  it("gives a CommonJS package what it knows of itself, and leaves the user's own names alone", async () => {
    const root = await project({
      "node_modules/old/package.json": '{"name":"old","main":"index.js"}',
      "node_modules/old/index.js":
        "exports.where = [__dirname, __filename, require('node:path').sep].every((one) => one.length > 0);",
      "own.ts": `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const __dirname = "mine";
export const own = () => [__dirname, require.resolve("node:fs")];`,
      "ghouls.config.ts": CONFIG.replace(
        "export default",
        `import { where } from "old";\nimport { own } from "./own.ts";\nif (!where || own()[0] !== "mine") throw new Error("lost");\nexport default`,
      ),
    });
    for (const { folder } of (await build(root)).functions) {
      // As Lambda loads it: what `node --eval` would lend to it is not there.
      const load = `await import(${JSON.stringify(pathToFileURL(join(folder, "index.mjs")).href)})`;
      const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", load], {
        encoding: "utf8",
      });
      expect(status, stderr).toBe(0);
    }
  });

  it("deploys beside the bundle what cannot be bundled, with the files that it reads", async () => {
    const root = await project({
      "node_modules/reads/package.json":
        '{"name":"reads","main":"lib/index.js","dependencies":{"needed":"1"}}',
      "node_modules/reads/lib/index.js": `const { join } = require("node:path");
exports.text = require("node:fs").readFileSync(join(__dirname, "..", "res", "words.txt"), "utf8") + require("needed");`,
      "node_modules/reads/res/words.txt": "read ",
      "node_modules/needed/package.json": '{"name":"needed","main":"index.js"}',
      "node_modules/needed/index.js": 'module.exports = "and needed";',
      "ghouls.config.ts": CONFIG.replace(
        "export default",
        `import { text } from "reads";\nif (text !== "read and needed") throw new Error(text);\nexport default`,
      ).replace("workflows: [hello]", 'workflows: [hello], build: { external: ["reads"] }'),
    });
    const { functions } = await build(root);
    for (const { folder } of functions) {
      await expect(import(pathToFileURL(join(folder, "index.mjs")).href)).resolves.toHaveProperty("handler");
    }
  });

  it("refuses a package to be deployed that is not installed", async () => {
    const root = await project({
      "ghouls.config.ts": CONFIG.replace(
        "workflows: [hello]",
        'workflows: [hello], build: { external: ["nowhere"] }',
      ),
    });
    await expect(build(root)).rejects.toMatchObject({
      code: "configuration_invalid",
      message: expect.stringContaining("nowhere is not installed"),
    });
  });

  it("leaves outside what a package would load if it were there", async () => {
    const root = await project({
      "node_modules/picky/package.json": '{"name":"picky","main":"index.js"}',
      "node_modules/picky/index.js":
        "exports.optional = () => { try { return require('not-installed'); } catch { return 'without'; } };",
      "ghouls.config.ts": CONFIG.replace(
        "export default",
        `export { optional } from "picky";\nexport default`,
      ),
    });
    expect((await build(root)).functions).toHaveLength(8);
  });
});

it("gives digest and bundle the same text, even where the file changes in between", async () => {
  const root = await project({ "a (b) [c]+é/hello.ts": HELLO, "other.ts": "export const other = 1;" });
  const { read, plugin } = buildSources();
  const file = join(root, "a (b) [c]+é/hello.ts");
  const before = await read(file);
  await writeFile(file, "export const hello = 1;");
  expect(await read(file)).toBe(before);
  const { build: bundle } = await import("esbuild");
  const { outputFiles } = await bundle({
    entryPoints: [file, join(root, "other.ts")],
    outdir: root,
    write: false,
    plugins: [plugin()],
  });
  const text = outputFiles.map((one) => one.text).join("");
  expect(text).toContain("Good evening");
  // What is no part of a digest comes from the disk.
  expect(text).toContain("const other = 1");
});
