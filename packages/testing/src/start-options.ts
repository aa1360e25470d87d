import {
  GhoulsError,
  type AnyService,
  type AnyWorkflow,
  type AuthorityCheck,
  type GrantProvider,
  type Logger,
} from "@ghouls/core";
import { defineConfig, type Config } from "ghouls";
import type { Actor } from "./actor.ts";
import type { Ask } from "./jobs.ts";
import type { ScriptOptions } from "./script.ts";

/** What a test is about: workflows with the services that they delegate to, or a whole configuration. */
type Subject =
  | {
      readonly workflows: readonly AnyWorkflow[];
      /** Who does delegated jobs; `ctx.delegate` takes one of these very objects. */
      readonly services?: Readonly<Record<string, AnyService>>;
      readonly config?: never;
    }
  | {
      /** What `defineConfig` gave. */
      readonly config: Config;
      readonly workflows?: never;
      readonly services?: never;
    };

interface Circumstances {
  /** Consents that are decided, signals that are sent, and jobs that end, by themselves. */
  readonly script?: ScriptOptions;
  /**
   * "real": services that no entry of the script names are asked as they are configured, over the network. By default
   * nobody is asked, and a run whose job needs an entry says so.
   */
  readonly ask?: Ask;
  /** Whether the clock moves by itself to what is due next where all of a run waits; true by default. */
  readonly skipTime?: boolean;
  /** A database of yours, as a role that may create schemas there; see the README for what is taken where it is absent. */
  readonly databaseUrl?: string;
  /** Who asks for runs; "user:tester" with the role operator by default. */
  readonly as?: Actor;
  /**
   * Says whether the authority of a run holds, for workflows that require one. The configuration's where absent; where it has
   * none, it holds for who asks with the roles that are required.
   */
  readonly authority?: AuthorityCheck;
  /**
   * Gives hops the grants of their workflows, such as `{ acquire: async ({ name }) => ({ outcome: "granted", value: … }) }`.
   * The configuration's where absent; where it has none, each is granted, without a value.
   */
  readonly grants?: GrantProvider;
  /** Hears what a worker and the passes log, `ctx.log` among it. Nobody does by default. */
  readonly log?: Logger;
}

export type StartOptions = Subject & Circumstances;

const OPTIONS: Record<keyof (Subject & Circumstances), true> = {
  workflows: true,
  services: true,
  config: true,
  script: true,
  ask: true,
  skipTime: true,
  databaseUrl: true,
  as: true,
  authority: true,
  grants: true,
  log: true,
};

const MADE_BY_DEFINE_CONFIG =
  "Write startGhouls({ workflows, services }), or startGhouls({ config }) with what defineConfig({ … }) gave, such as the default export of ghouls.config.ts.";

/**
 * The configuration of a test.
 * @throws GhoulsError configuration_invalid for options that are none, and for a configuration that cannot be used
 */
export function configOf(options: StartOptions): Config {
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown.length > 0)
    throw refused(`startGhouls has no option ${unknown.map((name) => `"${name}"`).join(", ")}`, {
      fix: `It has ${Object.keys(OPTIONS).join(", ")}; all else of a configuration is written as config: defineConfig({ … }).`,
    });
  const { ask = "scripted" } = options;
  if (ask !== "scripted" && ask !== "real")
    throw refused('ask is neither "scripted" nor "real"', {
      fix: 'Leave it out, so that a script says how jobs end; "real" asks services as they are configured.',
    });
  const { workflows, services, config } = options;
  if (config === undefined) {
    if (workflows === undefined)
      throw refused("startGhouls needs workflows, or a config", { fix: MADE_BY_DEFINE_CONFIG });
    return defineConfig({ workflows, ...(services === undefined ? {} : { services }) });
  }
  if (workflows !== undefined || services !== undefined)
    throw refused("startGhouls takes workflows and services, or a config, and not both", {
      fix: "Name them in the configuration.",
    });
  if (!isConfig(config))
    throw refused("the config of startGhouls was not made by defineConfig()", { fix: MADE_BY_DEFINE_CONFIG });
  return config;
}

/** It has all that a checked configuration has, whatever was left out. */
function isConfig(value: unknown): value is Config {
  if (typeof value !== "object" || value === null) return false;
  return Object.keys(defineConfig({ workflows: [] })).every((name) => Object.hasOwn(value, name));
}

function refused(message: string, { fix }: { readonly fix: string }): GhoulsError {
  return new GhoulsError("configuration_invalid", message, { fix });
}
