import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GhoulsError, describeFailure, durationMs, type QueueSettings } from "@ghouls/core";
import type { Config, Example } from "./config.ts";
import type { DevSettings } from "./dev-settings.ts";
import { projectRootOf } from "./digest/modules.ts";

/** A configuration with where it came from. */
export interface LoadedConfig {
  readonly path: string;
  /** The folder of the nearest package.json. */
  readonly root: string;
  readonly config: Config;
  readonly queues: Readonly<Record<string, QueueSettings>>;
  readonly examples: readonly Example[];
  /** What runs beside the project on one machine; modules are absolute paths. */
  readonly dev: DevSettings;
  readonly databaseSchema: string;
  readonly actsMarginSeconds: number;
  /** How long a claim is believed without a heartbeat, and from one heartbeat to the next, in milliseconds. */
  readonly leaseMs: number;
  readonly beatMs: number;
  /** Units of each capacity. */
  readonly capacities: Readonly<Record<string, number>>;
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
  const root = projectRootOf(file);
  await refuseCommonJs(file, root);
  const module = await imported(file, path);
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
    root,
    config,
    queues: config.queues,
    examples: config.examples,
    dev: devOf(config, file),
    databaseSchema: config.database.schema,
    actsMarginSeconds: durationMs(config.timing.actsMargin) / 1_000,
    leaseMs: durationMs(config.timing.lease),
    beatMs: durationMs(config.timing.beat),
    capacities: config.capacities,
  };
}

function devOf({ dev }: Config, file: string): DevSettings {
  const services = Object.entries(dev.services).map(
    ([name, { module }]) => [name, { module: resolve(dirname(file), module) }] as const,
  );
  return { ...dev, services: Object.fromEntries(services) };
}

/** A project of CommonJS cannot import our packages; `npm init` writes that type unasked. */
async function refuseCommonJs(file: string, root: string): Promise<void> {
  const manifest = join(root, "package.json");
  if (/\.m[jt]s$/.test(file) || !existsSync(manifest)) return;
  const { type } = JSON.parse(await readFile(manifest, "utf8")) as { type?: unknown };
  if (type !== "commonjs") return;
  throw new GhoulsError(
    "configuration_invalid",
    'the package.json beside the configuration says "type": "commonjs"',
    {
      fix: "Run `npm pkg set type=module`: Ghouls is made of ES modules.",
    },
  );
}

/** What a configuration throws is told in a sentence; a refusal of ours has its own. */
async function imported(file: string, path: string): Promise<{ default?: Config }> {
  try {
    return (await import(pathToFileURL(file).href)) as { default?: Config };
  } catch (error) {
    if (error instanceof GhoulsError) throw error;
    const { name, message, stack } = describeFailure(error);
    // Node names the place of a syntax error above the stack.
    const where = /(?:^|\n\s+at .*?)(file:[^)\s]+)/.exec(stack ?? "")?.[1];
    throw new GhoulsError(
      "configuration_invalid",
      `${path} cannot be loaded: ${name}: ${message.split("\n")[0]}`,
      {
        fix: `Correct it${where === undefined ? "" : ` (see ${where})`}. Node strips types and nothing more: no enum, no parameter properties, and imports of files name their ending, such as "./hello.ts".`,
        cause: error,
      },
    );
  }
}
