import { describe, expect, it } from "vitest";
import type { GhoulsError } from "@ghouls/core";
import * as z from "zod";
import { EXECUTION, KEY, MACHINE } from "./states-stub.support.ts";
import { executionName } from "./step-functions-jobs.ts";
import { stepFunctionsService, type StepFunctionsServiceOptions } from "./step-functions-service.ts";

const serviceWith = (options: Partial<StepFunctionsServiceOptions<unknown, unknown>> = {}) =>
  stepFunctionsService<unknown, unknown>({
    stateMachine: MACHINE,
    request: z.object({ depth: z.number() }),
    result: z.unknown(),
    ...options,
  });

describe("the name of an execution", () => {
  it("is the key where that is one of the engine's, and its digest where it is another", () => {
    expect(executionName(KEY)).toBe(KEY);
    for (const key of ["", "a/b c", "ghouls-ä", `ghouls-${"x".repeat(74)}`, "another"])
      expect(executionName(key)).toMatch(/^ghouls-sha256-[0-9a-f]{64}$/);
    expect(executionName(`ghouls-${"x".repeat(73)}`)).toHaveLength(80);
  });

  it("is no other key's, also where that is the name itself", () => {
    const keys = [
      "a",
      "b",
      "A",
      executionName("a"),
      executionName(executionName("a")),
      "ghouls-a",
      "ghouls-A",
    ];
    expect(new Set(keys.map(executionName)).size).toBe(keys.length);
  });
});

describe("the service", () => {
  it("says what it proves, who it is, and what asking needs", () => {
    const { adapter, version, identity, traits, times, permissions } = serviceWith();
    expect({ adapter, version, identity }).toEqual({
      adapter: "stepfunctions",
      version: "1",
      identity: { stateMachine: MACHINE },
    });
    expect(traits).toEqual({
      lookup: "authoritative",
      submit: "idempotent",
      cancel: "advisory",
      delaySeconds: 60,
      remembersSeconds: 30 * 86_400,
    });
    expect(times).toEqual({ timeoutMs: 10_000, pollMs: 30_000, heartbeatMs: null });
    expect(permissions).toEqual([
      { actions: ["states:DescribeStateMachine", "states:StartExecution"], resources: [MACHINE] },
      {
        actions: ["states:DescribeExecution", "states:StopExecution"],
        resources: ["arn:aws:states:eu-west-1:123456789012:execution:dig:ghouls-*"],
      },
    ]);
  });

  it("takes the machines of every partition", () => {
    for (const partition of ["aws-cn", "aws-us-gov", "aws-iso-b"])
      expect(serviceWith({ stateMachine: MACHINE.replace("aws", partition) }).adapter).toBe("stepfunctions");
  });

  it.each<[string, object, RegExp]>([
    ["a version", { stateMachine: `${MACHINE}:7` }, /stateMachine: names a version or an alias/],
    ["an alias", { stateMachine: `${MACHINE}:PROD` }, /names a version or an alias/],
    ["a map state", { stateMachine: `${MACHINE}/label` }, /map state/],
    ["a map run", { stateMachine: MACHINE.replace("stateMachine", "mapRun") }, /map run/],
    ["an execution", { stateMachine: EXECUTION }, /an execution: give the ARN of the state machine/],
    ["the name alone", { stateMachine: "dig" }, /must be the ARN/],
    ["a pattern", { stateMachine: MACHINE.replace("dig", "*") }, /must be the ARN/],
    [
      "nothing, as a variable that is not set",
      { stateMachine: undefined },
      /known wherever the configuration is loaded/,
    ],
    ["no schema", { request: {} }, /request: must be a zod schema/],
    [
      "no duration",
      { poll: "often", remembers: "0s" },
      /remembers: must be longer than 0; poll: a whole number/,
    ],
    ["what it does not have", { heartbeat: "1m" }, /heartbeat/],
  ])("is not made of %s", (_what, options, fix) => {
    let error: GhoulsError | undefined;
    try {
      serviceWith(options as never);
    } catch (caught) {
      error = caught as GhoulsError;
    }
    expect(error).toMatchObject({ code: "configuration_invalid", fix: expect.stringMatching(fix) as string });
  });
});
