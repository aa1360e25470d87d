import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { platformIsCurrent } from "./platform.ts";
import { ROOT } from "./project.ts";

/**
 * `npm run sst:install`: unpacks SST's platform and the SDKs of its providers into `.sst`, where the recorder and the
 * type-check of infra/ look for them. It does nothing where this version is there already, and asks AWS for nothing.
 */
if (!platformIsCurrent(ROOT)) {
  for (const part of ["platform", "provider-lock.json"])
    rmSync(join(ROOT, ".sst", part), { recursive: true, force: true });
  const { status, error } = spawnSync(join(ROOT, "node_modules/.bin/sst"), ["install"], {
    cwd: ROOT,
    stdio: "inherit",
    env: {
      ...process.env,
      SST_STAGE: "test",
      SST_TELEMETRY_DISABLED: "1",
      SST_SKIP_DEPENDENCY_CHECK: "true",
      // npm installs the SDKs then, from the registry that it is configured for.
      NO_BUN: "1",
    },
  });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
}
