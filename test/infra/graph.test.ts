import { describe, expect, it } from "vitest";
import { CHECK_NAMES, problemsOf } from "./checks/all.ts";
import { EGRESS_MUTATIONS } from "./mutations/egress.ts";
import { EDGE_MUTATIONS } from "./mutations/edges.ts";
import { FUNCTION_MUTATIONS } from "./mutations/functions.ts";
import type { Mutation } from "./mutations/mutation.ts";
import { PERMISSION_MUTATIONS } from "./mutations/permissions.ts";
import { QUEUE_MUTATIONS } from "./mutations/queues.ts";
import { RELEASE_MUTATIONS } from "./mutations/releases.ts";
import { WATCHING_MUTATIONS } from "./mutations/watching.ts";
import { recorded } from "./recorded.ts";
import { VARIANTS, type VariantName } from "./variants.ts";

describe("the graph of a deployment", () => {
  it.each(Object.keys(VARIANTS) as VariantName[])("%s holds against every check", async (name) => {
    expect(problemsOf(await recorded(name), VARIANTS[name].expected)).toEqual({});
  });

  it("names alarms by app and stage: two stages of one account do not share them", async () => {
    const { resources } = await recorded("test");
    const names = resources
      .filter(({ type }) => type === "aws:cloudwatch/metricAlarm:MetricAlarm")
      .map(({ inputs }) => String(inputs["name"] as string));
    expect(names.length).toBeGreaterThan(10);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !name.startsWith("ghouls-ghouls-test-"))).toEqual([]);
  });

  it("gives the egress function what the project has for it, and to nobody else", async () => {
    const { resources } = await recorded("services");
    const having = resources.filter(({ inputs }) => JSON.stringify(inputs).includes("SIGNER_REGION"));
    expect(having.map(({ name }) => name)).toEqual(["GhoulsEgressFunction"]);
  });

  it("has all functions built: nothing is left to SST's bundler", async () => {
    const builds = (await recorded("test")).rpc.filter(({ method }) => method === "Runtime.Build");
    expect(builds).toHaveLength(9);
    for (const { args } of builds) {
      expect(args["bundle"]).toContain(".sst/ghouls-functions");
      // A link would seal what it stands for beside the code.
      expect(args["links"]).toEqual({});
    }
  });
});

const MUTATIONS: readonly Mutation[] = [
  ...QUEUE_MUTATIONS,
  ...FUNCTION_MUTATIONS,
  ...PERMISSION_MUTATIONS,
  ...WATCHING_MUTATIONS,
  ...EDGE_MUTATIONS,
  ...EGRESS_MUTATIONS,
  ...RELEASE_MUTATIONS,
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
