import { GhoulsError } from "@ghouls/core";
import { drainSignal } from "../handlers/draining.ts";
import { executionOf, releasesOf } from "../handlers/execution.ts";
import { guardProcess } from "../handlers/left-behind.ts";
import { loadConfig } from "../load-config.ts";
import { fail, leaveSignalsToHost, onHostGone, tell } from "../processes/channel.ts";
import { isMessage } from "../processes/child.ts";
import { openRuntime } from "../runtime.ts";
import { startCarrying, untilReachable } from "./carrying.ts";
import { queuesOf, type ServedQueue, type WorkerOrder, type WorkerReady } from "./order.ts";

/**
 * A worker process, the child's side of supervisor.ts: `process.ts <order>`. Told to end, or left by its supervisor, it takes
 * nothing more, hands over what it carries, waits for the steps in flight, and ends by itself.
 */

/** Its output may have lost its reader; the runs that it carries have not. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/** Resolves when the supervisor has kept the name of this process: nothing is claimed before. */
function untilBegin(ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    ending.addEventListener("abort", () => resolve(), { once: true });
    if (ending.aborted) resolve();
    process.on("message", (message) => {
      if (isMessage(message) && message.type === "begin") resolve();
    });
  });
}

function untilEnding(ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    ending.addEventListener("abort", () => resolve(), { once: true });
    if (ending.aborted) resolve();
  });
}

function described(queues: readonly ServedQueue[]): string {
  return queues.map(({ name, atOnce }) => `${name} (${atOnce} at once)`).join(", ");
}

async function main(): Promise<void> {
  outliveReaders();
  leaveSignalsToHost();
  const ending = drainSignal();
  // Whoever would see this process end has gone: it must not go on unseen.
  onHostGone(() => process.kill(process.pid, "SIGTERM"));
  const order = JSON.parse(process.argv[2] ?? "") as WorkerOrder;
  const { config } = await loadConfig(order.config);
  const runtime = await openRuntime(config);
  guardProcess(runtime.log);
  const queues = queuesOf(order, config.queues, runtime.environment);
  await untilReachable(runtime, queues, ending, ({ message, fix }) => {
    return new GhoulsError("configuration_invalid", message, fix === undefined ? {} : { fix });
  });
  const ready: WorkerReady = {
    type: "ready",
    serves: described(queues),
    schema: runtime.environment.schema ?? config.database.schema,
    actsMarginSeconds: runtime.settings.actsMarginSeconds,
    hint: config.reconciler.hint,
  };
  const begun = untilBegin(ending);
  tell(ready);
  await begun;
  const execution = executionOf(runtime, releasesOf(runtime));
  const carrying = startCarrying(runtime, execution, queues, order.waitSeconds);
  await untilEnding(ending);
  runtime.log.info("this worker takes nothing more; it ends when its steps have ended");
  await carrying.stop();
  await runtime.close();
  process.exit(0);
}

await main().catch((error: unknown) => {
  fail(error);
  // Nobody is there to be told, and what it has opened would keep it.
  if (!process.connected) process.exit(1);
});
