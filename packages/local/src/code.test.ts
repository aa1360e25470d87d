import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { CodeAnswer } from "./code.ts";
import { openCodeStore, readCode, readFirstCode } from "./code.ts";
import { openLog } from "./log.ts";
import type { HostLog } from "./log.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const HANDLERS = import.meta.resolve("ghouls");
const root = mkdtempSync(join(tmpdir(), "ghouls-code-"));
const configPath = join(root, "ghouls.config.ts");
let log: HostLog;
beforeAll(() => {
  log = openLog(join(root, "log"), () => undefined);
  writeFileSync(join(root, "package.json"), `{"type":"module"}`);
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(root, "node_modules"));
  mkdirSync(join(root, "src"));
});
afterAll(async () => {
  await log.close();
  rmSync(root, { recursive: true });
});

const CONFIG = `import { defineConfig } from "ghouls";
import { hello } from "./src/hello.ts";
export default defineConfig({ workflows: [hello], timing: { lease: "8s", beat: "2s" } });
`;
const HELLO = `import { workflow } from "ghouls";
import * as z from "zod";
import words from "./words.json" with { type: "json" };
export const hello = workflow({
  name: "hello", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  run: (ctx) => ctx.step("greet", () => words.greeting),
});
`;

function write(over: Readonly<Record<string, string>> = {}): void {
  const files = {
    "ghouls.config.ts": CONFIG,
    "src/hello.ts": HELLO,
    "src/words.json": `{"greeting":"hello"}`,
    ...over,
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
}

const read = (over: { handlers?: string; signal?: AbortSignal } = {}): Promise<CodeAnswer> =>
  readCode({
    handlers: over.handlers ?? HANDLERS,
    configPath,
    env: process.env,
    log,
    signal: over.signal ?? new AbortController().signal,
  });

test("code says whose runs it accepts, too, so that these are nobody's stranded ones", async () => {
  const digest = "ab".repeat(32);
  write({ "src/hello.ts": HELLO.replace("version: 1,", `version: 1, accepts: ["${digest}"],`) });
  const code = await readFirstCode({ handlers: HANDLERS, configPath, env: process.env, log });
  expect(code.accepts).toEqual([{ name: "hello", digest }]);
});

test("code is its texts, its digests and what the host needs of its settings", async () => {
  write();
  const code = await readFirstCode({ handlers: HANDLERS, configPath, env: process.env, log });
  const paths = ["ghouls.config.ts", "src/hello.ts", "src/words.json"].map((path) => join(root, path));
  expect(Object.keys(code.files).toSorted()).toEqual(paths);
  expect(code.files[paths[1] ?? ""]).toBe(HELLO);
  expect(code.manifest).toEqual({ "hello@1": expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(code.settings).toMatchObject({ leaseMs: 8_000, beatMs: 2_000, databaseSchema: "ghouls" });
  write({ "src/words.json": `{"greeting":"good evening"}` });
  const other = await readFirstCode({ handlers: HANDLERS, configPath, env: process.env, log });
  expect(other.manifest).not.toEqual(code.manifest);
});

test.each([
  ["a syntax error", { "src/hello.ts": `${HELLO}const = 1;\n` }, "src/hello.ts:8:7: Expected identifier"],
  ["JSON that is none", { "src/words.json": `{"greeting": }` }, "src/words.json:1:14: "],
  [
    "an enum",
    { "src/hello.ts": `${HELLO}enum Colour { Red }\n` },
    /enum is not supported.*src\/hello\.ts:8\)/,
  ],
  [
    "a throw at its top",
    { "src/hello.ts": `${HELLO}\nthrow new Error("boom");\n` },
    /boom.*src\/hello\.ts:9\)/,
  ],
  [
    "a refused workflow",
    { "src/hello.ts": HELLO.replace(`onWorkerLoss: "resume", `, "") },
    /onWorkerLoss is missing \(at .*src\/hello\.ts:4\)/,
  ],
  [
    "a refused configuration",
    { "ghouls.config.ts": CONFIG.replace(`"8s"`, `"3s"`) },
    /not well inside the lease \(at .*ghouls\.config\.ts:3\)/,
  ],
])("%s is told with its file, its line and what to do", async (_name, files, message) => {
  write(files);
  const answer = await read();
  if (!("refused" in answer)) throw new Error("it was taken");
  expect(answer.refused.message).toMatch(message);
  expect(answer.refused.fix).toBeTruthy();
  expect(answer.files).toContain(join(root, Object.keys(files)[0] ?? ""));
});

test("an import of a file that is not there names the file, so that its coming can be waited for", async () => {
  write({ "src/hello.ts": `import "./gone.ts";\nimport "./lost.ts";\n${HELLO}` });
  expect(await read()).toMatchObject({
    refused: {
      message: 'src/hello.ts:1:8: Could not resolve "./gone.ts"',
      fix: expect.stringContaining("lost.ts"),
    },
    files: [
      join(root, "src/hello.ts"),
      join(root, "src/gone.ts"),
      join(root, "src/hello.ts"),
      join(root, "src/lost.ts"),
    ],
  });
});

test("what is saved while code is read is found out, and read again at a start", async () => {
  write();
  const handlers = new URL("./moving-handlers.support.ts", import.meta.url).href;
  expect(await read({ handlers })).toEqual({ moved: true });
  expect(readFileSync(configPath, "utf8")).toBe("1");
  const code = await readFirstCode({ handlers, configPath, env: process.env, log });
  expect(code.files).toEqual({ [configPath]: "3" });
});

test("a process that cannot tell, and one that is given up, refuse", async () => {
  expect(await read({ handlers: "data:text/javascript,export{}" })).toMatchObject({
    refused: { message: expect.stringContaining("modulesOf is not a function") },
    files: [],
  });
  const refused = { message: expect.stringContaining("SIGKILL"), fix: expect.any(String) };
  const first = readFirstCode({
    handlers: "data:text/javascript,export{}",
    configPath,
    env: process.env,
    log,
  });
  await expect(first).rejects.toMatchObject({ code: "configuration_invalid" });
  expect(await read({ signal: AbortSignal.abort() })).toEqual({ refused, files: [] });
});

test("code is kept in a folder of its own until it is forgotten", async () => {
  const store = openCodeStore(root);
  const code = { files: { "/a.ts": "1" }, accepts: [], manifest: { "a@1": "d" }, settings: {} as never };
  const [one, other] = [await store.keep(code), await store.keep(code)];
  await one.forget();
  expect(readdirSync(join(root, "code"))).toEqual(["2.json"]);
  expect(JSON.parse(readFileSync(other.file, "utf8"))).toEqual({
    files: code.files,
    manifest: code.manifest,
  });
  await store.clear();
  expect(readdirSync(root)).not.toContain("code");
});
