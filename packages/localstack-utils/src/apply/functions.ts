import {
  waitUntilFunctionActiveV2,
  waitUntilFunctionUpdatedV2,
  type Architecture,
  type Runtime,
} from "@aws-sdk/client-lambda";
import type { Clients } from "../clients.ts";
import { goesAlong, removed, type Applier } from "./applier.ts";
import type { Inputs } from "./inputs.ts";

/** Seconds until a new function or new code is ready. */
const READY_SECONDS = 60;

export const lambdaFunction: Applier = {
  apply: async ({ clients: { lambda }, inputs, earlier, code, began }) => {
    const name = inputs.text("name");
    const zip = await code(inputs.text("s3Key"));
    const waiting = { client: lambda, maxWaitTime: READY_SECONDS, minDelay: 1, maxDelay: 1 };
    if (earlier === undefined) {
      await lambda.createFunction({ ...settingsOf(inputs), Code: { ZipFile: zip }, PackageType: "Zip" });
      await began({ name });
      await waitUntilFunctionActiveV2(waiting, { FunctionName: name });
    } else {
      const architectures = inputs.texts("architectures") as Architecture[];
      await lambda.updateFunctionCode({ FunctionName: name, ZipFile: zip, Architectures: architectures });
      await waitUntilFunctionUpdatedV2(waiting, { FunctionName: name });
      await lambda.updateFunctionConfiguration(settingsOf(inputs));
      await waitUntilFunctionUpdatedV2(waiting, { FunctionName: name });
    }
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, { lambda }) => removed(lambda.deleteFunction({ FunctionName: keys["name"] ?? "" })),
};

function settingsOf(inputs: Inputs) {
  return {
    FunctionName: inputs.text("name"),
    Role: inputs.text("role"),
    Handler: inputs.text("handler"),
    Runtime: inputs.text("runtime") as Runtime,
    Timeout: inputs.number("timeout"),
    MemorySize: inputs.number("memorySize"),
    Environment: { Variables: inputs.object("environment").record("variables") },
    LoggingConfig: { LogGroup: inputs.object("loggingConfig").text("logGroup") },
  };
}

/** A step of the deploy: it runs at every deploy that triggers it, and one that fails ends the deploy. */
export const invocation: Applier = {
  apply: async ({ clients: { lambda }, resource, inputs }) => {
    const { FunctionError, Payload } = await lambda.invoke({
      FunctionName: inputs.text("functionName"),
      Payload: new TextEncoder().encode(inputs.text("input")),
    });
    const answer = new TextDecoder().decode(Payload);
    if (FunctionError !== undefined) throw new Error(`${resource.name} stopped the deploy: ${answer}`);
    return { keys: {}, state: {} };
  },
  remove: goesAlong,
};

export const permission: Applier = {
  apply: async ({ clients: { lambda }, resource, inputs, earlier }) => {
    const keys = { name: inputs.text("function"), statement: resource.name };
    if (earlier === undefined) {
      await lambda.addPermission({
        FunctionName: keys.name,
        StatementId: keys.statement,
        Action: inputs.text("action"),
        Principal: inputs.text("principal"),
        SourceArn: inputs.textOrNone("sourceArn"),
        FunctionUrlAuthType: inputs.textOrNone("functionUrlAuthType") as "NONE" | undefined,
        ...(inputs.flag("invokedViaFunctionUrl") ? { InvokedViaFunctionUrl: true } : {}),
      });
    }
    return { keys, state: {} };
  },
  remove: ({ keys }, { lambda }) =>
    removed(
      lambda.removePermission({ FunctionName: keys["name"] ?? "", StatementId: keys["statement"] ?? "" }),
    ),
};

/** The emulators' Node runtimes do not stream: a URL gathers there what its function says. */
export const functionUrl: Applier = {
  apply: async ({ clients: { lambda }, inputs, earlier }) => {
    const name = inputs.text("functionName");
    const settings = {
      FunctionName: name,
      AuthType: inputs.text("authorizationType") as "NONE" | "AWS_IAM",
      InvokeMode: "BUFFERED" as const,
    };
    const { FunctionUrl = "" } =
      earlier === undefined
        ? await lambda.createFunctionUrlConfig(settings)
        : await lambda.updateFunctionUrlConfig(settings);
    return { keys: { name }, state: { functionUrl: FunctionUrl } };
  },
  remove: ({ keys }, { lambda }) =>
    removed(lambda.deleteFunctionUrlConfig({ FunctionName: keys["name"] ?? "" })),
};

export const eventSourceMapping: Applier = {
  apply: async ({ clients: { lambda }, inputs, earlier }) => {
    const settings = {
      FunctionName: inputs.text("functionName"),
      BatchSize: inputs.number("batchSize"),
      MaximumBatchingWindowInSeconds: inputs.number("maximumBatchingWindowInSeconds"),
      FunctionResponseTypes: inputs.texts("functionResponseTypes") as "ReportBatchItemFailures"[],
      ScalingConfig: { MaximumConcurrency: inputs.object("scalingConfig").number("maximumConcurrency") },
    };
    const known = earlier?.keys["uuid"];
    if (known !== undefined) {
      await lambda.updateEventSourceMapping({ UUID: known, ...settings });
      return { keys: { uuid: known }, state: { id: known, uuid: known } };
    }
    const { UUID: uuid = "" } = await lambda.createEventSourceMapping({
      EventSourceArn: inputs.text("eventSourceArn"),
      ...settings,
    });
    return { keys: { uuid }, state: { id: uuid, uuid } };
  },
  remove: async ({ keys }, clients) => removeMapping(keys["uuid"] ?? "", clients),
};

async function removeMapping(uuid: string, { lambda }: Clients): Promise<void> {
  await removed(lambda.deleteEventSourceMapping({ UUID: uuid }));
}
