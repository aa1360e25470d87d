import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RELEASE_ENTRY, parseRelease, releaseText } from "@ghouls/core";
import { digestManifest, importRelease, loadConfig } from "ghouls";
import { CONFIG, HELLO, project } from "./project.support.ts";
import { makeReleases } from "./releases.ts";
import { buildSources, sourcesOf } from "./sources.ts";

async function releasesOf(files: Readonly<Record<string, string>>, manifest?: Record<string, string>) {
  const root = await project(files);
  const { config } = await loadConfig(join(root, "ghouls.config.ts"));
  const sources = buildSources();
  return makeReleases({
    workflows: config.workflows,
    all: config.workflows,
    manifest: manifest ?? (await digestManifest(config, sources.read)),
    root,
    sources,
    external: config.build.external,
  });
}

test("no workflows have no releases", async () => {
  expect(
    await makeReleases({
      workflows: [],
      all: [],
      manifest: {},
      root: "/",
      sources: sourcesOf({}),
      external: [],
    }),
  ).toEqual([]);
});

test("a text says all of a release, and is read as it was written", async () => {
  const [made] = await releasesOf({});
  const read = parseRelease(made?.text ?? "");
  expect(read?.workflow).toEqual({
    ...made?.workflow,
    name: "hello",
    onWorkerLoss: "resume",
    deadlineMs: null,
  });
  expect(read?.basis.modules.map(([path]) => path)).toEqual(["hello.ts"]);
  expect(read && releaseText(read)).toBe(made?.text);
  expect(parseRelease("[]")).toBeUndefined();
});

test("what cannot be bundled comes along, also a binary, and is found by the code", async () => {
  const [made] = await releasesOf({
    "node_modules/odd/package.json": '{"name":"odd","main":"i.js"}',
    "node_modules/odd/i.js":
      'exports.bytes = require("node:fs").readFileSync(require("node:path").join(__dirname, "odd.bin")).length;',
    "node_modules/odd/odd.bin": "\u0000\u00ff",
    "hello.ts": `import odd from "odd";\nimport { writeFileSync } from "node:fs";\n${HELLO.replace("version: 1,", "version: odd.bytes - 2,")}`,
    "ghouls.config.ts": CONFIG.replace(
      "workflows: [hello]",
      'workflows: [hello], build: { external: ["odd"] }',
    ),
  });
  const release = parseRelease(made?.text ?? "");
  expect(Object.keys(release?.files ?? {})).toEqual([
    RELEASE_ENTRY,
    "node_modules/odd/i.js",
    "node_modules/odd/odd.bin",
    "node_modules/odd/package.json",
  ]);
  expect((await importRelease(release?.files ?? {})).map(({ version }) => version)).toEqual([1]);
});

describe("refuses with what to do", () => {
  test("a workflow that a function elsewhere makes, whose module is not said", async () => {
    const made = releasesOf({
      "make.ts": `import { workflow } from "ghouls";
import * as z from "zod";
export const make = (name: string) => workflow({ name, version: 1, onWorkerLoss: "resume", input: z.unknown(), run: async () => 1 });
`,
      "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { make } from "./make.ts";
export default defineConfig({ workflows: [make("one")] });
`,
    });
    await expect(made).rejects.toMatchObject({
      code: "configuration_invalid",
      message: expect.stringMatching(
        /^the module of workflow "one" version 1 \(.*make\.ts\) defines it 0 times/,
      ),
      fix: expect.stringContaining("pass module: import.meta.url"),
    });
  });

  test("one whose module is said as it wants to be", async () => {
    const made = await releasesOf({
      "make.ts": `import { workflow } from "ghouls";
import * as z from "zod";
export const make = (name: string, module: string) => workflow({ name, version: 1, module, onWorkerLoss: "resume", input: z.unknown(), run: async () => 1 });
`,
      "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { make } from "./make.ts";
export default defineConfig({ workflows: [make("one", import.meta.url), make("two", import.meta.url)] });
`,
    });
    expect(made.map(({ workflow }) => workflow.name)).toEqual(["one", "two"]);
  });

  test.each([
    [
      "a name of ghouls that workflows are not made with",
      `import { createWorker } from "ghouls";\nexport const never = () => createWorker;\n${HELLO}`,
      /^the code of hello@1 cannot be loaded by itself: SyntaxError: .*createWorker/,
      'Import "createWorker" of ghouls in the configuration',
    ],
    [
      "code that throws where it is loaded elsewhere",
      `if (process.env["AWS_LAMBDA_FUNCTION_NAME"] === "ghouls-build") throw new Error("not here");\n${HELLO}`,
      /cannot be loaded by itself: Error: not here/,
      "belongs into build: { external",
    ],
    [
      "code that ends its process",
      `if (process.env["AWS_LAMBDA_FUNCTION_NAME"] === "ghouls-build") process.exit(3);\n${HELLO}`,
      /cannot be loaded by itself: the process ended while it was loaded \(exit 3\)/,
      "belongs into build: { external",
    ],
  ])("%s", async (_what, text, message, fix) => {
    await expect(releasesOf({ "hello.ts": text })).rejects.toMatchObject({
      code: "configuration_invalid",
      message: expect.stringMatching(message),
      fix: expect.stringContaining(fix),
    });
  });

  test("a module that defines another workflow of the configuration twice", async () => {
    const made = releasesOf({
      "hello.ts": `${HELLO}import "./twice.ts";\nimport "./other.ts";\n`,
      "other.ts": HELLO.replaceAll("hello", "other"),
      "twice.ts": HELLO.replaceAll("hello", "other"),
      "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { hello } from "./hello.ts";
import { other } from "./other.ts";
export default defineConfig({ workflows: [hello, other] });
`,
    });
    await expect(made).rejects.toThrow(/^the module of workflow "other" version 1 \(.*\) defines it 2 times/);
  });

  test("an import that leads nowhere", async () => {
    const text = `export const late = () => import("./nowhere.ts");\n${HELLO}`;
    await expect(releasesOf({ "hello.ts": text }, { "hello@1": "0".repeat(64) })).rejects.toMatchObject({
      message: "the code of hello@1 cannot be bundled",
      fix: expect.stringContaining("nowhere.ts"),
    });
  });

  test("code that is not that of the digest any more", async () => {
    await expect(releasesOf({}, { "hello@1": "0".repeat(64) })).rejects.toThrow(
      "the code of hello@1 was saved meanwhile",
    );
  });
});
