import { describe, expect, it } from "vitest";
import { problemsOf } from "./checks/all.ts";
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

  it("has all functions built: nothing is left to SST's bundler", async () => {
    const builds = (await recorded("test")).rpc.filter(({ method }) => method === "Runtime.Build");
    expect(builds).toHaveLength(7);
    for (const { args } of builds) {
      expect(args["bundle"]).toContain(".sst/ghouls-functions");
      // A link would seal what it stands for beside the code.
      expect(args["links"]).toEqual({});
    }
  });
});
