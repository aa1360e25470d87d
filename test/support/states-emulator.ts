import { afterAll } from "vitest";
import { until } from "./wait.ts";
import { MACHINE, type StatesBackend, type StatesReply } from "./state-machine.ts";

const [, , , REGION = ""] = MACHINE.split(":");
/** An emulator takes any signature, and reads the region out of it. */
const AUTHORIZATION = `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/states/aws4_request, SignedHeaders=host, Signature=0`;

/**
 * A machine at an emulator, until the end of the test file: its one state waits for a worker of an activity, which a test is.
 * @param machine its ARN
 */
export async function emulatedStates(endpoint: string, machine = MACHINE): Promise<StatesBackend> {
  const activity = machine.replace(":stateMachine:", ":activity:");
  const ask = async (action: string, input: object): Promise<StatesReply> => {
    const answer = await fetch(endpoint, {
      method: "POST",
      headers: {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": `AWSStepFunctions.${action}`,
        authorization: AUTHORIZATION,
      },
      body: JSON.stringify(input),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const told = async <T>(action: string, input: object): Promise<T> => {
    const { status, text } = await ask(action, input);
    if (status !== 200) throw new Error(`${action} answered ${status}: ${text}`);
    return JSON.parse(text) as T;
  };
  const name = machine.split(":").at(-1);
  const remove = async () => {
    await ask("DeleteStateMachine", { stateMachineArn: machine });
    await ask("DeleteActivity", { activityArn: activity });
  };
  // A run that was ended by force has left them.
  await remove();
  afterAll(remove);
  await told("CreateActivity", { name });
  const definition = { StartAt: "Dig", States: { Dig: { Type: "Task", Resource: activity, End: true } } };
  await told("CreateStateMachine", {
    name,
    type: "STANDARD",
    definition: JSON.stringify(definition),
    roleArn: "arn:aws:iam::000000000000:role/dig",
  });
  const listed = async (statusFilter?: string) => {
    const { executions } = await told<{ executions: { name: string }[] }>("ListExecutions", {
      stateMachineArn: machine,
      ...(statusFilter === undefined ? {} : { statusFilter }),
    });
    return executions.map((one) => one.name);
  };
  return {
    ask,
    finish: async (output) => {
      while ((await listed("RUNNING")).length > 0) {
        const before = (await listed("RUNNING")).length;
        const task = await until("a task of the activity", async () => {
          const given = await told<{ taskToken?: string }>("GetActivityTask", { activityArn: activity });
          return given.taskToken;
        });
        // Of one that was aborted before, an emulator may hand out the task still.
        await ask("SendTaskSuccess", { taskToken: task, output });
        await until("the end of an execution", async () => (await listed("RUNNING")).length < before);
      }
    },
    executions: () => listed(),
  };
}
