import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { GhoulsError } from "@ghouls/core";

/** A function's folder, elsewhere than the project: nothing of it is found there that is not deployed. */
export interface Candidate {
  readonly entry: string;
  readonly folder: string;
}

/** Far above what Lambda gives a function to begin, which is 10 s. */
const PATIENCE_MS = 60_000;

/**
 * Loads each function once, as Lambda does before it invokes one.
 * @throws GhoulsError configuration_invalid naming the first that cannot be loaded, in its module's words
 */
export async function tryOut(candidates: readonly Candidate[], patienceMs = PATIENCE_MS): Promise<void> {
  let left = candidates;
  while (left.length > 0) {
    const all = await loaded(left, patienceMs);
    const culprit = left[all.count];
    if (culprit === undefined) return;
    // One process for all is quick, but what may be there only once fails at the second: alone it has its own.
    const alone = all.count === 0 ? all : await loaded([culprit], patienceMs);
    if (alone.count === 0) throw refused(culprit.entry, alone.words);
    left = left.slice(all.count + 1);
  }
}

interface Loaded {
  /** How many could be loaded, the first ones. */
  readonly count: number;
  /** Why the next one could not. */
  readonly words: string;
}

const LOAD = `import { writeSync } from "node:fs";
const say = (what) => writeSync(3, JSON.stringify(what) + "\\n");
for (const url of JSON.parse(process.argv[1])) {
  try {
    const { handler } = await import(url);
    if (typeof handler !== "function") throw new Error("it exports no handler");
    say({ ok: true });
  } catch (error) {
    say({ words: error instanceof Error ? error.name + ": " + error.message : String(error) });
    break;
  }
}
process.exit(0);
`;

async function loaded(candidates: readonly Candidate[], patienceMs: number): Promise<Loaded> {
  const cwd = await mkdtemp(join(tmpdir(), "ghouls-load-"));
  try {
    const urls = candidates.map(({ folder }) => pathToFileURL(join(folder, "index.mjs")).href);
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", LOAD, "--", JSON.stringify(urls)],
      {
        cwd,
        env: environment(cwd),
        stdio: ["ignore", "ignore", "pipe", "pipe"],
        timeout: patienceMs,
        killSignal: "SIGKILL",
      },
    );
    const [said, complained] = [child.stdio[3], child.stderr].map(
      (stream) => stream as NodeJS.ReadableStream,
    );
    const [lines, stderr, { code, signal }] = await Promise.all([
      textOf(said),
      textOf(complained),
      new Promise<{ code: number | null; signal: string | null }>((settle, reject) => {
        child.once("error", reject);
        child.once("close", (exit, by) => settle({ code: exit, signal: by }));
      }),
    ]);
    return outcomeOf(
      lines,
      stderr,
      signal === "SIGKILL" ? `it takes more than ${patienceMs} ms` : `exit ${code}`,
    );
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

function outcomeOf(lines: string, stderr: string, end: string): Loaded {
  const said = lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { ok?: true; words?: string });
  const words = said.find((one) => one.words !== undefined)?.words;
  // A process that ends itself says nothing of its own.
  return { count: said.filter(({ ok }) => ok === true).length, words: words ?? lastWords(stderr, end) };
}

function lastWords(stderr: string, end: string): string {
  const error = /^\s*(?:Uncaught )?\w*(?:Error|Exception)\b.*$/m.exec(stderr)?.[0].trim();
  return error === undefined ? `the process ended while it was loaded (${end})` : `${error} (${end})`;
}

async function textOf(stream: NodeJS.ReadableStream | undefined): Promise<string> {
  let text = "";
  for await (const part of stream ?? []) text += String(part);
  return text;
}

/**
 * What the configuration was loaded with a moment ago, and what Lambda sets. Nothing that would lend modules to it.
 * Source: AWS Lambda, "Defined runtime environment variables".
 */
function environment(root: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_PATH: _path, ...own } = process.env;
  return {
    ...own,
    AWS_REGION: own["AWS_REGION"] ?? "us-east-1",
    AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
    AWS_LAMBDA_FUNCTION_NAME: "ghouls-build",
    LAMBDA_TASK_ROOT: root,
  };
}

function refused(entry: string, words: string): GhoulsError {
  const missing = /Cannot find (?:package|module) '([^'/]+(?:\/[^'/]+)?)/.exec(words)?.[1];
  const named = missing === undefined || missing.startsWith(".") ? "…" : missing;
  return new GhoulsError("configuration_invalid", `the function ${entry} cannot be loaded: ${words}`, {
    fix:
      "Only what is bundled is there, or deployed beside it: a package that reads files of its own, or loads others by " +
      `name, belongs into build: { external: ["${named}"] } of ghouls.config.ts.`,
  });
}
