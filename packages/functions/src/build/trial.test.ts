import { join } from "node:path";
import { expect, it, test } from "vitest";
import { folder } from "./project.support.ts";
import { tryOut } from "./trial.ts";

const HANDLER = "export const handler = () => undefined;\n";

/** Functions by their name, each of one module. */
async function candidates(texts: Readonly<Record<string, string>>) {
  const root = await folder(
    Object.fromEntries(Object.entries(texts).map(([entry, text]) => [`${entry}/index.mjs`, text])),
  );
  return Object.keys(texts).map((entry) => ({ entry, folder: join(root, entry) }));
}

it("loads what loads, whatever it leaves running", async () => {
  const ticking = `setInterval(() => undefined, 1_000);\n${HANDLER}`;
  await expect(tryOut(await candidates({ api: HANDLER, worker: ticking }))).resolves.toBeUndefined();
});

test.each([
  ["throws", 'throw new TypeError("no words");', /TypeError: no words/],
  ["throws what is no error", 'throw "just words";', /just words/],
  [
    "reads a file of its own",
    'import { readFileSync } from "node:fs";\nreadFileSync(new URL("x.txt", import.meta.url));',
    /ENOENT.*x\.txt/,
  ],
  ["imports what is not there", 'import "pino/pretty";', /Cannot find package 'pino'/],
  ["ends the process", "process.exit(7);", /ended while it was loaded \(exit 7\)/],
  [
    "fails beside its import",
    'Promise.reject(new RangeError("beside"));\nawait new Promise((done) => setTimeout(done, 5_000));',
    /RangeError: beside \(exit 1\)/,
  ],
  ["waits for nothing", "await new Promise(() => undefined);", /exit 13/],
])("one that %s is refused in its own words", async (_what, text, words) => {
  const given = await candidates({ api: HANDLER, worker: `${HANDLER}${text}\n` });
  await expect(tryOut(given)).rejects.toMatchObject({
    code: "configuration_invalid",
    message: expect.stringMatching(words),
    fix: expect.stringContaining("build: { external: ["),
  });
  await expect(tryOut(given)).rejects.toThrow("the function worker cannot be loaded");
});

it("one without a handler is refused", async () => {
  const given = await candidates({ api: "export const another = 1;" });
  await expect(tryOut(given)).rejects.toThrow("exports no handler");
});

it("names the package that is missing in the fix", async () => {
  const given = await candidates({ api: `import "@scope/one/deep";\n${HANDLER}` });
  await expect(tryOut(given)).rejects.toMatchObject({ fix: expect.stringContaining('["@scope/one"]') });
});

it("does not wait for ever", async () => {
  const given = await candidates({
    api: `setInterval(() => undefined, 1_000);\nawait new Promise(() => undefined);`,
  });
  await expect(tryOut(given, 1_000)).rejects.toThrow("more than 1000 ms");
});

it("believes a function that can be loaded on its own: its process is its own on Lambda too", async () => {
  const once = `if (globalThis.there) throw new Error("twice");\nglobalThis.there = true;\n${HANDLER}`;
  await expect(tryOut(await candidates({ api: once, worker: once, migrate: once }))).resolves.toBeUndefined();
});

it("lends no modules that Lambda does not have", async () => {
  const modules = await folder({ "lent/index.js": "" });
  const before = process.env["NODE_PATH"];
  process.env["NODE_PATH"] = modules;
  try {
    const lent = `import { createRequire } from "node:module";\ncreateRequire(import.meta.url)("lent");\n${HANDLER}`;
    await expect(tryOut(await candidates({ api: lent }))).rejects.toThrow("Cannot find module 'lent'");
  } finally {
    if (before === undefined) delete process.env["NODE_PATH"];
    else process.env["NODE_PATH"] = before;
  }
});
