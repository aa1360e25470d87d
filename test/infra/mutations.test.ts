import { describe, expect, it } from "vitest";
import { CHECK_NAMES, problemsOf } from "./checks/all.ts";
import { EDGE_MUTATIONS } from "./mutations/edges.ts";
import { FUNCTION_MUTATIONS } from "./mutations/functions.ts";
import type { Mutation } from "./mutations/mutation.ts";
import { PERMISSION_MUTATIONS } from "./mutations/permissions.ts";
import { QUEUE_MUTATIONS } from "./mutations/queues.ts";
import { WATCHING_MUTATIONS } from "./mutations/watching.ts";
import { recorded } from "./recorded.ts";
import { VARIANTS } from "./variants.ts";

const MUTATIONS: readonly Mutation[] = [
  ...QUEUE_MUTATIONS,
  ...FUNCTION_MUTATIONS,
  ...PERMISSION_MUTATIONS,
  ...WATCHING_MUTATIONS,
  ...EDGE_MUTATIONS,
];

describe("with one setting broken", () => {
  it.each(MUTATIONS)("“$check” speaks, and no other check: $what", async (mutation) => {
    const { check, of = "test", change, expect: written = (expected) => expected } = mutation;
    const graph = change(await recorded(of));
    const problems = problemsOf(graph, written(VARIANTS[of].expected));
    expect(problems).toEqual({ [check]: expect.arrayContaining([expect.any(String)]) as unknown });
  });

  it("each check is shown to speak", () => {
    const shown = new Set<string>(MUTATIONS.map(({ check }) => check));
    expect(CHECK_NAMES.filter((name) => !shown.has(name))).toEqual([]);
  });
});
