import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version that the tests were written against; another one is a change to be looked at. */
const MINISTACK = "ministack==1.5.33";
const VENV = fileURLToPath(new URL("../../node_modules/.cache/ghouls-aws", import.meta.url));

/** The command of ministack, or what the step of its installation said that failed. */
export type Installed = { readonly command: string } | { readonly missing: string };

/** Installs ministack in a virtual environment of the tests' own, unless it is there. */
export function installMinistack(): Installed {
  const bin = join(VENV, "bin");
  const command = join(bin, "ministack");
  const { stdout } = spawnSync(join(bin, "pip"), ["show", "ministack"], { encoding: "utf8" });
  if (stdout?.includes(`Version: ${MINISTACK.split("==")[1]}\n`)) return { command };
  // Half of an environment, too, as an interrupted run leaves it.
  rmSync(VENV, { recursive: true, force: true });
  mkdirSync(VENV, { recursive: true });
  const missing =
    complaint("python3", ["-m", "venv", VENV]) ??
    complaint(join(bin, "pip"), ["install", "--quiet", "--disable-pip-version-check", MINISTACK]);
  return missing === undefined ? { command } : { missing };
}

/** What a program said that failed. */
function complaint(program: string, args: readonly string[]): string | undefined {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status === 0) return undefined;
  return `${program} ${args.join(" ")}: ${error?.message ?? `${stdout}${stderr}`.trim()}`;
}
