import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LockedPackage } from "./lockfile.ts";
import type { Policy } from "./policy.ts";
import { parsePolicy } from "./policy.ts";

/** For tests: a package of the registry, with what the test is about changed. */
export function lockedPackage(changes: Partial<LockedPackage> = {}): LockedPackage {
  return {
    path: "node_modules/spirit",
    name: "spirit",
    version: "1.0.0",
    kind: "registry",
    licence: "MIT",
    integrity: undefined,
    resolved: undefined,
    bundled: false,
    dev: false,
    optional: false,
    dependsOn: [],
    ...changes,
  };
}

/** For tests: a small policy, with what the test is about changed. */
export function policyOf(changes: Record<string, unknown> = {}): Policy {
  const file = {
    name: "test",
    allowed: ["MIT", "Apache-2.0", "BSD-3-Clause", "LGPL-2.1"],
    denied: [{ id: "GPL-3.0-only", reason: "copyleft" }, "GPL-2.0-only", "AGPL-3.0"],
    allowedExceptions: ["LLVM-exception", "GPL-2.0-only WITH Classpath-exception-2.0"],
    aliases: { "Apache 2.0": "Apache-2.0", BSD: "BSD-3-Clause", "MIT/X11": "MIT", GPLv3: "GPL-3.0-only" },
    ...changes,
  };
  return parsePolicy(JSON.stringify(file), "test.json");
}

/** For tests: the text of a lockfile, version 3, with these entries beside the project. */
export function lockfileText(packages: Record<string, unknown>, top: Record<string, unknown> = {}): string {
  const root = { name: "manor", version: "2.0.0" };
  return JSON.stringify({ name: "manor", lockfileVersion: 3, packages: { "": root, ...packages }, ...top });
}

/** A folder that goes with its test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-gate-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
