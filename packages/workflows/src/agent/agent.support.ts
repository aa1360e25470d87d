import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Profile } from "./profiles.ts";
import { scriptedModel, type Move, type Seen } from "./scripted-model.ts";

/** For tests: a folder for payments of its own. */
export function paymentsFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "ghouls-agent-"));
}

/** For tests: a profile with every tool, whose model plays a script. */
export function profileWith(script: (seen: Seen) => Move, changes: Partial<Profile> = {}): Profile {
  return {
    model: () => scriptedModel(script),
    instructions: "Play your part.",
    tools: ["find_order", "refund"],
    deciders: ["role:decider"],
    maxModelCalls: 50,
    modelCallsPerEpoch: 20,
    ...changes,
  };
}

/** For tests: calls the n-th of these tools where n were called before, and then says so. */
export function calling(calls: readonly { readonly tool: string; readonly input: unknown }[]) {
  return ({ deeds }: Seen): Move => {
    const call = calls[deeds.length];
    return call === undefined ? { say: "done" } : { say: "Now. ", calls: [call] };
  };
}
