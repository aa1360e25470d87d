import { NonRetryableError } from "ghouls";
import { deskScript } from "./desk-script.ts";
import { scriptedModel, type Model } from "./scripted-model.ts";
import type { ToolName } from "./tools.ts";

/** Who works on a goal: chosen at the admission by `agent`, for all of the run. */
export interface Profile {
  readonly model: () => Model | Promise<Model>;
  readonly instructions: string;
  readonly tools: readonly ToolName[];
  /** Who consents to dangerous tools. */
  readonly deciders: readonly string[];
  /** Of the whole run. */
  readonly maxModelCalls: number;
  /** After so many the run goes on with an empty journal and a compacted conversation. */
  readonly modelCallsPerEpoch: number;
}
export type Profiles = Readonly<Record<string, Profile>>;

const clerk: Profile = {
  model: () => scriptedModel(deskScript),
  instructions:
    "You work at the desk of a shop. Help with the order that is asked about, and say what you did.",
  tools: ["find_order"],
  deciders: ["role:decider"],
  maxModelCalls: 50,
  modelCallsPerEpoch: 20,
};

/**
 * Both play a script, so that the example runs without a network. For a model that thinks, install its provider and add
 *
 *     thinker: {
 *       ...clerk,
 *       model: async () => (await import("@ai-sdk/anthropic")).anthropic("<its model>"),
 *       tools: ["find_order", "refund"],
 *     },
 *
 * and submit with `--agent thinker`. Its key is read by the provider, in the worker; no tool gets it.
 */
export const PROFILES = { clerk, cashier: { ...clerk, tools: ["find_order", "refund"] } } satisfies Profiles;

const DEFAULT_AGENT = "clerk";

/** @throws NonRetryableError for an agent that is none, with those that are */
export function profileOf(profiles: Profiles, agent: string | null): Profile {
  const name = agent ?? DEFAULT_AGENT;
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles).join(", ");
  throw new NonRetryableError(`There is no agent "${name.slice(0, 100)}". Submit with one of: ${known}.`);
}
