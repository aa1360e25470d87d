import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Built, DeploymentPlan } from "@ghouls/functions";

/** What the command `ghouls` of the project says of its configuration. It runs as a process: the configuration is the user's code. */
export interface Project {
  readonly plan: DeploymentPlan;
  readonly built: Built;
}

/**
 * Builds the functions, or takes those that are built already, and plans the deployment.
 * @param planOptions plain data, as `ghouls infra --options` takes it
 * @param from folder of an earlier build
 * @throws Error with the command's own words
 */
export function readProject(config: string, planOptions: object, from?: string): Project {
  const root = process.cwd();
  const plan = ghouls<DeploymentPlan>(root, [
    "infra",
    "--config",
    config,
    "--options",
    JSON.stringify(planOptions),
  ]);
  // A copy also of an earlier build: SST writes beside the code that it deploys.
  const built = ghouls<Built>(root, [
    "build",
    "--config",
    config,
    "--out",
    join(".sst", "ghouls-functions"),
    ...(from === undefined ? [] : ["--from", from]),
  ]);
  return { plan, built };
}

function ghouls<T>(root: string, args: readonly string[]): T {
  const bin = join(
    dirname(createRequire(join(root, "package.json")).resolve("ghouls")),
    "..",
    "bin",
    "ghouls.mjs",
  );
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [bin, ...args, "--json"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1_024 * 1_024,
  });
  if (status === 0) return JSON.parse(stdout) as T;
  throw new Error(`ghouls ${args[0]} failed: ${error?.message ?? wordsOf(stderr)}`);
}

/** What is refused comes as JSON; anything else as it is. */
function wordsOf(stderr: string): string {
  try {
    const { error } = JSON.parse(stderr) as { error: { message: string; fix?: string } };
    return error.fix === undefined ? error.message : `${error.message}\n  Fix: ${error.fix}`;
  } catch {
    return stderr.trim();
  }
}
