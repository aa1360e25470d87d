import { execFile } from "node:child_process";
import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { folder, ghouls } from "../fakes.support.ts";

const execute = promisify(execFile);
const modules = fileURLToPath(new URL("../../../../node_modules/", import.meta.url));

/** Stands in for the package that users install, with the types of its two functions. */
const GHOULS = {
  "node_modules/ghouls/package.json": JSON.stringify({
    name: "ghouls",
    version: "0.0.0",
    type: "module",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  }),
  "node_modules/ghouls/index.js": "export const workflow = (w) => w; export const defineConfig = (c) => c;",
  "node_modules/ghouls/index.d.ts": `
import type * as z from "zod";
interface Context { step<T>(name: string, run: () => T | Promise<T>): Promise<T>; }
export interface Workflow<I, O> {
  readonly name: string; readonly version: number; readonly onWorkerLoss: "resume" | "fail";
  readonly input: z.ZodType<I>; readonly output: z.ZodType<O>;
  run(ctx: Context, input: I): Promise<O>;
}
export declare function workflow<I, O>(definition: Workflow<I, O>): Workflow<I, O>;
export declare function defineConfig<C extends { readonly workflows: readonly { readonly name: string }[]; readonly examples?: readonly { readonly workflow: string; readonly input: unknown }[] }>(config: C): C;
`,
};

describe("init", () => {
  it("writes exactly two files into an empty folder and tells the next three commands", async () => {
    const cwd = await folder();
    const outcome = await ghouls(["init"], { cwd });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect((await readdir(cwd, { recursive: true })).toSorted()).toEqual([
      "ghouls.config.ts",
      "workflows",
      join("workflows", "hello.ts"),
    ]);
    expect(
      outcome.out
        .split("Next:\n")[1]
        ?.trim()
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual([
      "npm install ghouls zod && npm install --save-dev @ghouls/local",
      "npx ghouls dev",
      `npx ghouls submit hello --input '{"name":"world"}'`,
    ]);
  });

  it("changes nothing that a project has, and speaks its package manager", async () => {
    const files = {
      "package.json": '{"packageManager":"pnpm@10.0.0"}',
      "tsconfig.json": "{}",
      "src/a.ts": "",
    };
    const cwd = await folder({ ...files });
    const outcome = await ghouls(["init", "--json"], { cwd });
    expect(JSON.parse(outcome.out)).toMatchObject({
      written: ["ghouls.config.ts", "workflows/hello.ts"],
      skipped: [],
      folder: cwd,
    });
    expect(outcome.out).toContain("pnpm exec ghouls dev");
    for (const [name, text] of Object.entries(files))
      expect(await readFile(join(cwd, name), "utf8")).toBe(text);
    const locked = await folder({ "package.json": "{}", "pnpm-lock.yaml": "" });
    expect((await ghouls(["init"], { cwd: locked })).out).toContain("pnpm add ghouls");
  });

  it("says what a project of CommonJS, as npm init makes it, needs first; it changes nothing itself", async () => {
    const cwd = await folder({ "package.json": '{ "type": "commonjs" }' });
    expect((await ghouls(["init"], { cwd })).out).toContain("npm pkg set type=module && npm install ghouls");
    expect(await readFile(join(cwd, "package.json"), "utf8")).toBe('{ "type": "commonjs" }');
  });

  it("never overwrites: a second time it skips both and fails", async () => {
    const cwd = await folder({ "package.json": "{}", "ghouls.config.ts": "mine" });
    const first = await ghouls(["init"], { cwd });
    expect(first).toMatchObject({ code: 0, err: "skipped ghouls.config.ts: it is there already\n" });
    expect(await readFile(join(cwd, "ghouls.config.ts"), "utf8")).toBe("mine");
    expect(await ghouls(["init"], { cwd })).toMatchObject({ code: 1 });
  });

  it("makes the folder that it is given, and starts the commands there", async () => {
    const cwd = await folder();
    const outcome = await ghouls(["init", "my app"], { cwd });
    expect(outcome.out).toContain('cd "my app" && npm install');
    expect(await readdir(join(cwd, "my app"))).toContain("ghouls.config.ts");
  });

  it("refuses a folder that is neither empty nor a project", async () => {
    const cwd = await folder({ "photo.jpg": "" });
    expect(await ghouls(["init"], { cwd })).toMatchObject({ code: 1 });
    expect(await readdir(cwd)).toEqual(["photo.jpg"]);
  });

  it("tells what the file system says: a file in the place of the folder, a folder in the place of a file", async () => {
    const cwd = await folder({ "a.txt": "", "b/package.json": "{}", "b/workflows": "a file" });
    expect(await ghouls(["init", "a.txt"], { cwd })).toMatchObject({ code: 1 });
    expect(await ghouls(["init", "b"], { cwd })).toMatchObject({ code: 1 });
    const loop = await folder();
    await symlink("loop", join(loop, "loop"));
    expect(await ghouls(["init", "loop"], { cwd: loop })).toMatchObject({ code: 1 });
  });

  it.each([
    ["plain", []],
    ["where .ts imports are allowed", ["--allowImportingTsExtensions"]],
    [
      "under the strictest options",
      ["--verbatimModuleSyntax", "--erasableSyntaxOnly", "--exactOptionalPropertyTypes", "--isolatedModules"],
    ],
  ])("writes code that type-checks, %s, and that Node runs as it is", async (_case, options) => {
    const cwd = await folder({ "package.json": '{"type":"module"}', ...GHOULS });
    await symlink(join(modules, "zod"), join(cwd, "node_modules", "zod"));
    await ghouls(["init"], { cwd });
    const flags = ["--module", "nodenext", "--noEmit", "--strict", "--skipLibCheck", "false", "--types", ""];
    const check = (file: string) =>
      execute(process.execPath, [join(modules, "typescript", "bin", "tsc"), ...flags, ...options, file], {
        cwd,
      });
    await check("ghouls.config.ts");
    const script = `const { default: c } = await import("./ghouls.config.ts");
      console.log(JSON.stringify(await c.workflows[0].run({ step: (_n, f) => f() }, c.examples[0].input)));`;
    const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", script], { cwd });
    expect(JSON.parse(stdout)).toEqual({ greeting: "Hello, world." });
  });
});
