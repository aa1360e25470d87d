import { describe, expect, it } from "vitest";
import type { JobAnswer } from "@ghouls/core";
import * as z from "zod";
import {
  EXECUTION,
  JOB,
  MACHINE,
  breaks,
  refuses,
  says,
  stands,
  statesStub,
  type Answer,
} from "./states-stub.support.ts";
import { stepFunctionsService } from "./step-functions-service.ts";

const stub = statesStub();
const make = () => stepFunctionsService({ stateMachine: MACHINE, request: z.unknown(), result: z.unknown() });
const context = { signal: new AbortController().signal, origins: [] };
const lookUp = () => make().lookUp(JOB, context);
const cancel = () => make().cancel(JOB, context);
const why = (answer: JobAnswer) => ("why" in answer ? answer.why : "");

describe("a lookup", () => {
  it.each<[string, object, JobAnswer]>([
    ["RUNNING", {}, { state: "running" }],
    ["PENDING_REDRIVE", {}, { state: "running" }],
    ["SUCCEEDED", { output: "null" }, { state: "succeeded", result: null }],
    [
      "FAILED",
      {},
      { state: "failed", error: { code: "ExecutionFailed", message: expect.any(String) as string } },
    ],
    [
      "TIMED_OUT",
      {},
      { state: "failed", error: { code: "States.Timeout", message: expect.any(String) as string } },
    ],
    ["ABORTED", {}, { state: "cancelled" }],
  ])("of one that is %s", async (status, more, report) => {
    stub.answers["DescribeExecution"] = [stands(status, more)];
    expect(await lookUp()).toEqual(report);
    expect(stub.asked).toMatchObject([{ action: "DescribeExecution", body: { executionArn: EXECUTION } }]);
  });

  it.each<[string, Answer, RegExp]>([
    ["a state that nobody knows", stands("DREAMING"), /DREAMING/],
    [
      "a success without its output",
      stands("SUCCEEDED", { outputDetails: { included: false } }),
      /not included/,
    ],
    ["a success whose output is no JSON", stands("SUCCEEDED", { output: "{" }), /cannot be kept/],
    [
      "a number that would be another",
      stands("SUCCEEDED", { output: "12345678901234567890" }),
      /cannot be kept/,
    ],
    ["throttling", refuses("ThrottlingException"), /Throttling/],
    ["a refusal", refuses("AccessDeniedException"), /AccessDenied/],
    ["a broken connection", breaks, /Step Functions/],
  ])("that is answered with %s proves nothing", async (_what, answer, words) => {
    stub.answers["DescribeExecution"] = [answer];
    const said = await lookUp();
    expect([said.state, why(said)]).toEqual(["unknown", expect.stringMatching(words)]);
  });

  it("that finds nothing says so where the machine is there", async () => {
    stub.answers["DescribeExecution"] = [refuses("ExecutionDoesNotExist")];
    expect(await lookUp()).toEqual({ state: "absent" });
  });

  it.each<[string, Answer]>([
    ["is gone", refuses("StateMachineDoesNotExist")],
    ["is being deleted", says({ type: "STANDARD", status: "DELETING" })],
    ["cannot be described", breaks],
  ])("that finds nothing proves nothing where the machine %s", async (_what, machine) => {
    stub.answers["DescribeExecution"] = [refuses("ExecutionDoesNotExist")];
    stub.answers["DescribeStateMachine"] = [machine];
    expect((await lookUp()).state).toBe("unknown");
  });
});

describe("a cancel", () => {
  it.each<[string, Answer, Answer, JobAnswer["state"]]>([
    ["that is acknowledged, and seen, is one", says({ stopDate: 1 }), stands("ABORTED"), "cancelled"],
    ["that is not seen yet is none", says({ stopDate: 1 }), stands("RUNNING"), "running"],
    [
      "of one that had succeeded brings its result",
      says({ stopDate: 1 }),
      stands("SUCCEEDED", { output: "1" }),
      "succeeded",
    ],
    [
      "that is refused because it has ended brings its result",
      refuses("ValidationException"),
      stands("FAILED"),
      "failed",
    ],
    [
      "of one that is not there proves nothing by itself",
      refuses("ExecutionDoesNotExist"),
      refuses("ExecutionDoesNotExist"),
      "absent",
    ],
    [
      "that is refused of one that runs has no answer",
      refuses("AccessDeniedException"),
      stands("RUNNING"),
      "unknown",
    ],
    ["of which nobody hears, of one that was aborted, is one", breaks, stands("ABORTED"), "cancelled"],
    ["of which nobody hears at all has no answer", breaks, breaks, "unknown"],
  ])("%s", async (_what, stop, describe, state) => {
    stub.answers["StopExecution"] = [stop];
    stub.answers["DescribeExecution"] = [describe];
    expect((await cancel()).state).toBe(state);
    expect(stub.actions().slice(0, 2)).toEqual(["StopExecution", "DescribeExecution"]);
    // Nothing more is needed for it than the right to do it.
    expect(stub.asked[0]?.body).toEqual({ executionArn: EXECUTION });
  });
});
