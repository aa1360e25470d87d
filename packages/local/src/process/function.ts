import inspector from "node:inspector";
import { performance } from "node:perf_hooks";
import { endWithHost, fail, leaveSignalsToHost, tell } from "ghouls/processes/channel";
import { givenCode } from "./serve-modules.ts";

/**
 * An execution environment, the child's side: `function.ts <module> <factory> <config> [<code>]`. It imports the module,
 * loads the configuration and builds the handler once, then answers invocations.
 */

interface Context {
  readonly awsRequestId: string;
  readonly functionName: string;
  getRemainingTimeInMillis(): number;
}
type Handler = (event: unknown, context: Context) => unknown;

interface Exports {
  readonly loadConfig?: (path: string) => Promise<{ readonly config: unknown }>;
  readonly [factory: string]: unknown;
}

interface Invocation {
  readonly type: "invoke";
  readonly id: string;
  readonly event: unknown;
  readonly remainingMs: number;
}

/**
 * Lets a debugger attach, on loopback only. The port may still belong to the process that this one follows, which a breakpoint
 * may hold: then it is tried again until it is free.
 */
function openInspector(port: string | undefined): void {
  if (port === undefined) return;
  inspector.open(Number(port), "127.0.0.1");
  const url = inspector.url();
  if (url === undefined) setTimeout(() => openInspector(port), 1_000).unref();
  else tell({ type: "inspector", url });
}

async function loadHandler([module = "", factory = "", configPath = "", code]: string[]): Promise<Handler> {
  const overrides = await givenCode(code);
  const { loadConfig, [factory]: create } = (await import(module)) as Exports;
  if (loadConfig === undefined || typeof create !== "function") {
    throw new TypeError(`${module} does not export loadConfig and ${factory}`);
  }
  const { config } = await loadConfig(configPath);
  return (create as (config: unknown, overrides: object) => Handler)(config, overrides);
}

async function answer(handler: Handler, functionName: string, invocation: Invocation): Promise<void> {
  const deadline = performance.now() + invocation.remainingMs;
  const context: Context = {
    awsRequestId: invocation.id,
    functionName,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(deadline - performance.now())),
  };
  try {
    const value = await handler(invocation.event, context);
    tell({ type: "result", id: invocation.id, body: JSON.stringify(value) ?? "null" });
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    tell({ type: "result", id: invocation.id, error: reason });
  }
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  endWithHost();
  leaveSignalsToHost();
  openInspector(process.env["GHOULS_INSPECT"]);
  const handler = await loadHandler(args);
  process.on("message", (message: Invocation) => {
    if (message.type === "invoke") void answer(handler, args[1] ?? "", message);
  });
  tell({ type: "ready" });
}

await main().catch(fail);
