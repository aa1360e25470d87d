import { expect, test } from "vitest";
import config from "../ghouls.config.ts";
import { agent } from "./agent/agent.ts";
import { hello } from "./hello.ts";
import { payout } from "./payout/payout.ts";
import { releaseGate } from "./release-gate/release-gate.ts";
import { route } from "./route.ts";

test.each<[unknown, unknown]>([
  [{ lockfile: "/l" }, { workflow: "release-gate", queue: "rites" }],
  [
    { lockfile: "/l", name: "x" },
    { workflow: "release-gate", queue: "rites" },
  ],
  [{ name: "Eve" }, { workflow: "hello" }],
  [{ goal: "see", name: "x" }, { workflow: "agent" }],
  [{}, undefined],
  [null, undefined],
  ["lockfile", undefined],
  [["name"], undefined],
  [Object.create({ name: "inherited" }), undefined],
])("an input %j goes to %j, and what fits nothing goes nowhere", (input, expected) => {
  expect(route({ input })).toEqual(expected);
});

test("each example of the configuration is a valid input, and would be routed to its own workflow", () => {
  expect(config.workflows).toEqual([hello, releaseGate, agent, payout]);
  const inputs = { hello: hello.input, "release-gate": releaseGate.input, agent: agent.input };
  expect(config.examples?.map((example) => example.workflow)).toEqual(Object.keys(inputs));
  for (const { workflow, input } of config.examples ?? []) {
    expect(inputs[workflow as keyof typeof inputs].safeParse(input).error).toBeUndefined();
    expect(route({ input })?.workflow).toBe(workflow);
  }
});
