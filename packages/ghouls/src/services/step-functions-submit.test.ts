import { describe, expect, it, vi } from "vitest";
import type { FaultInjector, JobAnswer, JobSubmission } from "@ghouls/core";
import * as z from "zod";
import {
  JOB,
  KEY,
  MACHINE,
  TOKEN,
  breaks,
  refuses,
  says,
  stands,
  statesStub,
  EXECUTION,
  type Answer,
} from "./states-stub.support.ts";
import { stepFunctionsService } from "./step-functions-service.ts";

const stub = statesStub();
const make = () =>
  stepFunctionsService({
    stateMachine: MACHINE,
    request: z.object({ depth: z.number() }),
    result: z.unknown(),
  });
const context = (more: { signal?: AbortSignal; faults?: FaultInjector } = {}) => ({
  signal: new AbortController().signal,
  origins: [],
  ...more,
});
const submit = (job: Partial<JobSubmission> = {}, service = make()) =>
  service.submit({ ...JOB, ...job }, context());
const why = (answer: JobAnswer) => ("why" in answer ? answer.why : "");

describe("a submission", () => {
  it("starts one execution under the job's key, with the request's very text and no token", async () => {
    expect(await submit()).toEqual({ state: "accepted" });
    expect(stub.actions()).toEqual(["DescribeStateMachine", "StartExecution"]);
    expect(stub.asked[1]?.body).toEqual({ stateMachineArn: MACHINE, name: KEY, input: '{"depth":2.0}' });
    expect(JSON.stringify(stub.asked)).not.toContain(TOKEN);
  });

  it("asks once of which type its machine is", async () => {
    const service = make();
    await submit({}, service);
    await submit({}, service);
    expect(stub.actions()).toEqual(["DescribeStateMachine", "StartExecution", "StartExecution"]);
  });

  it.each<[string, Answer, RegExp]>([
    ["of an EXPRESS machine", says({ type: "EXPRESS", status: "ACTIVE" }), /STANDARD/],
    ["of a machine that is not there", refuses("StateMachineDoesNotExist"), /StateMachineDoesNotExist/],
    [
      "whose machine may not be described",
      refuses("AccessDeniedException", 400, "not allowed"),
      /not allowed/,
    ],
    ["whose machine nobody can describe just now", refuses("InternalFailure", 500), /InternalFailure/],
  ])("%s is not sent, and that is certain", async (_what, answer, words) => {
    stub.answers["DescribeStateMachine"] = [answer];
    const said = await submit();
    expect(said).toMatchObject({ state: "unsent", why: expect.stringMatching(words) as string });
    expect(stub.starts()).toEqual([]);
  });

  it("that is too large is not sent, and asks nobody", async () => {
    const text = JSON.stringify("ä".repeat(131_072));
    expect(await submit({ requestText: text })).toMatchObject({
      state: "unsent",
      why: expect.stringContaining("262146 bytes") as string,
    });
    expect(stub.asked).toEqual([]);
    expect(await submit({ requestText: JSON.stringify("ä".repeat(131_071)) })).toEqual({ state: "accepted" });
  });

  it.each([
    "AccessDeniedException",
    "ExecutionLimitExceeded",
    "InvalidExecutionInput",
    "StateMachineDeleting",
    "StateMachineDoesNotExist",
    "ThrottlingException",
    "UnrecognizedClientException",
    "ValidationException",
  ])("that is refused with %s was not made, and is sent once", async (code) => {
    stub.answers["StartExecution"] = [refuses(code)];
    expect(await submit()).toMatchObject({ state: "unsent", why: expect.stringContaining(code) as string });
    expect(stub.starts()).toHaveLength(1);
  });

  it("repeats nothing of its input where that is refused", async () => {
    for (const code of ["InvalidExecutionInput", "ValidationException"]) {
      stub.answers["StartExecution"] = [refuses(code, 400, 'Unrecognized token "a secret"')];
      expect(why(await submit())).toBe(`Step Functions: ${code}`);
    }
  });

  it.each<[string, Answer]>([
    ["a failure of Step Functions", refuses("InternalFailure", 500)],
    ["a service that is not available", refuses("ServiceUnavailable", 503)],
    ["a refusal of a kind that nobody knows", refuses("SomethingNew")],
    ["what calls itself throttled and is a failure", refuses("ThrottlingException", 500)],
    ["a connection that breaks", breaks],
    ["an answer that is none", (response) => response.end("<html>")],
    ["another execution than its own", says({ executionArn: `${EXECUTION}x`, startDate: 1 })],
  ])("that was answered with %s is unknown, and is sent once", async (_what, answer) => {
    stub.answers["StartExecution"] = [answer];
    expect(await submit()).toMatchObject({ state: "unknown" });
    expect(stub.starts()).toHaveLength(1);
  });

  it("whose time ends while it is answered is unknown", async () => {
    const abort = new AbortController();
    stub.answers["StartExecution"] = [() => abort.abort(new DOMException("too long", "AbortError"))];
    const said = await make().submit(JOB, context({ signal: abort.signal }));
    expect(said.state).toBe("unknown");
    expect(stub.starts()).toHaveLength(1);
  });

  it("whose time is over before it leaves is not sent", async () => {
    const service = make();
    await submit({}, service);
    const signal = AbortSignal.abort(new DOMException("too long", "AbortError"));
    expect((await service.submit(JOB, context({ signal }))).state).toBe("unsent");
    expect(stub.starts()).toHaveLength(1);
  });

  it("without a connection is not sent, nor one of a name that leads nowhere", async () => {
    const service = make();
    await submit({}, service);
    for (const nowhere of ["http://127.0.0.1:9", "http://nowhere.invalid"]) {
      vi.stubEnv("AWS_ENDPOINT_URL_SFN", nowhere);
      expect((await submit()).state).toBe("unsent");
    }
    expect(stub.starts()).toHaveLength(1);
  });

  it("without credentials is not sent", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere");
    vi.stubEnv("AWS_CONFIG_FILE", "/nowhere");
    expect(await submit()).toMatchObject({
      state: "unsent",
      why: expect.stringMatching(/credentials/i) as string,
    });
    expect(stub.asked).toEqual([]);
  });

  it("passes its fault points, and nobody knows what came of one that fails there", async () => {
    const passed: string[] = [];
    await make().submit(JOB, context({ faults: (point, detail) => void passed.push(`${point} ${detail}`) }));
    expect(passed).toEqual([
      "states.before-ask DescribeStateMachine",
      "states.after-ask DescribeStateMachine",
      "states.before-ask StartExecution",
      "states.after-ask StartExecution",
    ]);
    const faults: FaultInjector = (point, detail) => {
      if (point === "states.after-ask" && detail === "StartExecution") throw new Error("lost");
    };
    await expect(make().submit(JOB, context({ faults }))).rejects.toThrow("lost");
  });
});

describe("a submission of a key that Step Functions has", () => {
  const second = (describe: Answer) => {
    stub.answers["StartExecution"] = [refuses("ExecutionAlreadyExists")];
    stub.answers["DescribeExecution"] = [describe];
    return submit();
  };

  it.each<[string, Answer, JobAnswer]>([
    ["and runs still is running", stands("RUNNING"), { state: "running" }],
    [
      "and has succeeded brings its result",
      stands("SUCCEEDED", { output: '{"found":"bones"}' }),
      { state: "succeeded", result: { found: "bones" } },
    ],
    [
      "and has failed brings its error",
      stands("FAILED", { error: "Rock", cause: "too hard" }),
      { state: "failed", error: { code: "Rock", message: "too hard" } },
    ],
    ["and was aborted is cancelled", stands("ABORTED"), { state: "cancelled" }],
    [
      "and was written in other words is the same",
      stands("RUNNING", { input: '{ "depth": 2.0 }' }),
      { state: "running" },
    ],
    ["and does not say with what", stands("RUNNING", { input: undefined }), { state: "running" }],
  ])("%s, after one start", async (_what, describe, report) => {
    expect(await second(describe)).toEqual(report);
    expect(stub.starts()).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    ["with another input is not this job", stands("SUCCEEDED", { input: '{"depth":3}', output: "1" })],
    ["with an input that is none is not this job", stands("RUNNING", { input: "{" })],
    ["and does not find it", refuses("ExecutionDoesNotExist")],
    ["and may not be asked", refuses("AccessDeniedException")],
  ])("%s: nobody knows", async (_what, describe) => {
    expect((await second(describe)).state).toBe("unknown");
  });
});
