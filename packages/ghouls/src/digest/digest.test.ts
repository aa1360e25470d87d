import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import type { AnyWorkflow } from "@ghouls/core";
import { workflow } from "../workflow.ts";
import { digestManifest, digestOf, workflowDigest } from "./digest.ts";
import { localModules } from "./modules.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "ghouls-digest-"));
  await mkdir(join(root, "src"));
  await files({
    "package.json": "{}",
    "src/main.ts": `import { price } from "./price.ts";
import limits from "./limits.json" with { type: "json" };
import * as z from "zod";
import type { Money } from "./types.ts";
export const total = (n: number): Money => price(n) + limits.base;
export const later = () => import("./later.ts");
void z;
`,
    "src/price.ts": `export function price(count: number) { return count * 2; }\n`,
    "src/types.ts": `export type Money = number;\n`,
    "src/later.ts": `export const late = 1;\n`,
    "src/limits.json": `{"base": 1, "cap": 2}\n`,
  });
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function files(contents: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(contents)) await writeFile(join(root, path), text);
}

function defined(
  change: Partial<{ version: number; name: string; input: z.ZodType; output: z.ZodType }> = {},
): AnyWorkflow {
  return workflow({
    name: "total",
    version: 1,
    onWorkerLoss: "resume",
    input: z.object({ count: z.number() }),
    run: () => Promise.resolve(1),
    ...change,
    module: join(root, "src/main.ts"),
  } as never);
}

test("local modules are those that static imports reach, sorted by their path from the project's root", async () => {
  const modules = await localModules(join(root, "src/main.ts"), root);
  expect(modules.map((module) => module.path)).toEqual(["src/limits.json", "src/main.ts", "src/price.ts"]);
});

describe("the digest stays", () => {
  test.each([
    [
      "comments, white space and quotes",
      "src/price.ts",
      `// twice\nexport function price( count : number ) {\n  /* two */ return count * 2\n}`,
    ],
    ["types", "src/price.ts", `export function price(count: number): number { return count * 2; }`],
    [
      "trailing commas and parentheses",
      "src/price.ts",
      `export function price(count: number,) { return (count * 2); }`,
    ],
    ["the order of keys in JSON", "src/limits.json", `{ "cap": 2,\n "base": 1 }`],
    ["a module of types alone", "src/types.ts", `export type Money = bigint;`],
    ["a module that is imported dynamically", "src/later.ts", `export const late = 2;`],
  ])("when %s change", async (_what, path, text) => {
    const before = await workflowDigest(defined());
    await files({ [path]: text });
    expect(await workflowDigest(defined())).toBe(before);
  });

  test("wherever the project lies", async () => {
    const before = await workflowDigest(defined());
    const moved = `${root}-moved`;
    await rename(root, moved);
    // What is removed at the end is what there is now.
    root = moved;
    expect(await workflowDigest(defined())).toBe(before);
  });
});

describe("the digest moves", () => {
  test.each([
    [
      "the code of a module that it reaches",
      "src/price.ts",
      `export function price(count: number) { return count * 3; }`,
    ],
    [
      "the text of a literal",
      "src/price.ts",
      `export function price(count: number) { return count * 2 + 0; }`,
    ],
    ["a value in JSON", "src/limits.json", `{"base": 2, "cap": 2}`],
  ])("with %s", async (_what, path, text) => {
    const before = await workflowDigest(defined());
    await files({ [path]: text });
    expect(await workflowDigest(defined())).not.toBe(before);
  });

  test.each([
    ["its version", { version: 2 }],
    ["its name", { name: "sum" }],
    ["its input schema", { input: z.object({ count: z.int() }) }],
    ["its output schema", { output: z.number() }],
  ])("with %s", async (_what, change) => {
    expect(await workflowDigest(defined(change))).not.toBe(await workflowDigest(defined()));
  });
});

test("the defining module is the one that calls workflow(), and its digest is a manifest's as well", async () => {
  const here = workflow({
    name: "here",
    version: 3,
    onWorkerLoss: "fail",
    input: z.null(),
    run: () => Promise.resolve(),
  });
  expect(here.module).toMatch(/digest\.test\.ts$/);
  const manifest = await digestManifest({ workflows: [here] });
  expect(manifest).toEqual({ "here@3": await digestOf(here, undefined) });
  expect(await digestOf(here, manifest)).toBe(manifest["here@3"]);
  await expect(digestOf(here, {})).rejects.toMatchObject({ code: "configuration_invalid" });
});

test("a workflow without a module is refused with what to pass", async () => {
  await expect(workflowDigest({ ...defined(), module: undefined })).rejects.toThrow(/import\.meta\.url/);
});
