import { describe, expect, inject, test } from "vitest";
import { openLambdaEgress } from "@ghouls/aws";
import { noFaults, type JobQuestion } from "@ghouls/core";
import { emulatedStates } from "../support/states-emulator.ts";
import type { Cloud } from "./cloud.ts";
import { MACHINE } from "./deployed-project.ts";
import type { Stonemason } from "./stonemason.ts";

/** What leaves by the egress function of a deployment. */
export function questionTests(cloud: Cloud, mason: Stonemason): void {
  describe("a question to a service", () => {
    const job = {
      tenantId: "acme",
      runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
      attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
      idempotencyKey: "asked directly",
    };
    const submission = { ...job, requestText: '{"name":"Ada"}', callback: null };
    const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
    const egress = () =>
      openLambdaEgress({
        region: "us-east-1",
        endpoint: inject("emulator") ?? "",
        credentials: { accessKeyId: "test", secretAccessKey: "test" },
        function: cloud.nameOf("GhoulsEgressFunction"),
        clock,
        faults: noFaults,
      });

    const variablesOf = async (name: string) => {
      const { Environment } = await cloud.clients.lambda.getFunctionConfiguration({
        FunctionName: cloud.nameOf(name),
      });
      return Environment?.Variables ?? {};
    };

    test("is asked by workers through a function that is told of no database, queue or table", async () => {
      expect(await variablesOf("GhoulsEgressFunction")).toEqual({
        GHOULS_BUILD: expect.any(String),
        STONEMASON_URL: mason.url,
      });
      const worker = await variablesOf("GhoulsWorkerRunsFunction");
      expect(worker["GHOULS_PUBLIC_URL"]).toBe(cloud.stack.apiUrl);
      expect(worker["GHOULS_EGRESS_FUNCTION"]).toMatch(
        new RegExp(`:function:${cloud.nameOf("GhoulsEgressFunction")}$`),
      );
      expect(worker).not.toHaveProperty("STONEMASON_URL");
      expect(await variablesOf("GhoulsApiFunction")).not.toHaveProperty("GHOULS_EGRESS_FUNCTION");
    });

    test("leaves from there, and what the service says comes back", async () => {
      const opened = egress();
      const answer = await opened.ask("stonemason", { kind: "submit", job: submission }, 60_000);
      expect(answer).toEqual({ state: "accepted" });
      const orders = mason.ordered("asked directly");
      expect(orders).toHaveLength(1);
      expect(orders[0]).toMatchObject({
        body: { name: "Ada" },
        headers: { "x-sent-by": cloud.nameOf("GhoulsEgressFunction") },
      });
      const found = await opened.ask("stonemason", { kind: "lookUp", job }, 60_000);
      expect(found).toEqual({ state: "accepted" });
      const unknown = { ...job, idempotencyKey: "never submitted" };
      expect(await opened.ask("stonemason", { kind: "lookUp", job: unknown }, 60_000)).toEqual({
        state: "absent",
      });
      opened.close();
    });

    test("about an execution of Step Functions leaves from there too", async () => {
      const states = await emulatedStates(inject("emulator") ?? "", MACHINE);
      const opened = egress();
      const dug = { ...job, idempotencyKey: "ghouls-dug" };
      const ask = (question: JobQuestion) => opened.ask("digger", question, 60_000);
      const start: JobQuestion = { kind: "submit", job: { ...submission, ...dug } };
      expect(await ask({ kind: "lookUp", job: dug })).toEqual({ state: "absent" });
      expect(await ask(start)).toEqual({ state: "accepted" });
      // Again, as the same job.
      expect((await ask(start)).state).toMatch(/^(accepted|running)$/);
      expect(await ask({ kind: "lookUp", job: dug })).toEqual({ state: "running" });
      await states.finish('{"found":"bones"}');
      const succeeded = { state: "succeeded", result: { found: "bones" } };
      expect(await ask({ kind: "lookUp", job: dug })).toEqual(succeeded);
      expect(await ask(start)).toEqual(succeeded);
      expect(await states.executions()).toEqual(["ghouls-dug"]);
      opened.close();
    });

    test("that nobody of this deployment would ask is refused, and nothing is sent", async () => {
      const before = mason.all().length;
      const opened = egress();
      const asked = opened.ask("another", { kind: "submit", job: submission }, 60_000);
      await expect(asked).rejects.toThrow("the egress function failed");
      opened.close();
      const { FunctionError, Payload } = await cloud.clients.lambda.invoke({
        FunctionName: cloud.nameOf("GhoulsEgressFunction"),
        Payload: Buffer.from('{"service":"stonemason","url":"http://169.254.169.254/"}'),
      });
      expect(FunctionError).toBeDefined();
      expect(Payload?.transformToString()).toContain("the event is no question to a service");
      expect(Payload?.transformToString()).not.toContain("169.254");
      expect(mason.all()).toHaveLength(before);
    });
  });
}
