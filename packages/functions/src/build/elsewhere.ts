import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a script in a process of its own has said, and how that ended. */
interface Elsewhere<Said> {
  readonly said: readonly Said[];
  readonly stderr: string;
  /** Such as "exit 1". */
  readonly end: string;
}

const BEFORE = `import { writeSync } from "node:fs";
const say = (what) => writeSync(3, JSON.stringify(what) + "\\n");
const wordsOf = (error) => (error instanceof Error ? error.name + ": " + error.message : String(error));
const given = JSON.parse(process.argv[1]);
`;

/**
 * Runs the text of a module in a process of its own, elsewhere than in the project: nothing of it is found there that is not
 * deployed. The script has `given`, `say(value)` and `wordsOf(error)`. Never rejects for what the script does.
 */
export async function runElsewhere<Said>(
  script: string,
  given: unknown,
  patienceMs: number,
): Promise<Elsewhere<Said>> {
  const cwd = await mkdtemp(join(tmpdir(), "ghouls-load-"));
  try {
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", `${BEFORE}${script}process.exit(0);\n`, "--", JSON.stringify(given)],
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
    return {
      said: lines
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Said),
      stderr,
      end: signal === "SIGKILL" ? `it takes more than ${patienceMs} ms` : `exit ${code}`,
    };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** Why a process ended that has not said it. */
export function lastWords(stderr: string, end: string): string {
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
