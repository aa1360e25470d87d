import { spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Of npm's variables only those that say where packages come from; the others describe the repository. */
const NPM_KEPT = /^npm_config_(registry|cache|userconfig|globalconfig)$/i;
const NOT_A_USERS = /^(npm_|VITEST|GHOULS_|DATABASE_|AWS_|NODE_OPTIONS$|NODE_ENV$|INIT_CWD$)/i;

/** The environment of a user's shell whose `node` is the one that runs this test. */
function userEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => NPM_KEPT.test(name) || !NOT_A_USERS.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
  };
}

/** Runs a program to its end. */
export function run(command: string, args: readonly string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: userEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

/** The standard output of a program that must succeed. @throws Error with all that it said */
export async function output(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, out, err } = await run(command, args, cwd);
  if (code === 0) return out;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${out}\n${err}`);
}
