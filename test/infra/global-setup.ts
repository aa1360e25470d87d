import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { output } from "../pack/run.ts";
import { ROOT } from "./project.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the build of this repository's examples that the recordings share. */
    built: string;
  }
}

export default async function setup({ provide }: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "ghouls-built-"));
  const built = join(folder, "built");
  const build = ["build", "--config", "packages/workflows/ghouls.config.ts", "--out", built];
  await output(process.execPath, ["packages/ghouls/bin/ghouls.mjs", ...build], ROOT);
  provide("built", built);
  return () => rmSync(folder, { recursive: true });
}
