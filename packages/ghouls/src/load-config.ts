import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GhoulsError, type QueueSettings } from "@ghouls/core";
import type { Config, Example } from "./config.ts";
import { projectRootOf } from "./digest/modules.ts";

/** A configuration with where it came from. */
export interface LoadedConfig {
  readonly path: string;
  /** The folder of the nearest package.json. */
  readonly root: string;
  readonly config: Config;
  readonly queues: Readonly<Record<string, QueueSettings>>;
  readonly examples: readonly Example[];
  readonly databaseSchema: string;
}

/**
 * Imports ghouls.config.ts.
 * @throws GhoulsError configuration_invalid where there is no such file, or it has no default export of defineConfig()
 */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new GhoulsError("configuration_invalid", `there is no configuration at ${path}`, {
      fix: "Run `ghouls init`, or name the file with --config.",
    });
  }
  const module = (await import(pathToFileURL(file).href)) as { default?: Config };
  const config = module.default;
  if (
    config === undefined ||
    typeof config !== "object" ||
    !Array.isArray(config.workflows) ||
    config.queues === undefined
  ) {
    throw new GhoulsError("configuration_invalid", `${path} has no default export made by defineConfig()`, {
      fix: "Write `export default defineConfig({ workflows: [ … ] })`.",
    });
  }
  return {
    path: file,
    root: projectRootOf(file),
    config,
    queues: config.queues,
    examples: config.examples,
    databaseSchema: config.database.schema,
  };
}
