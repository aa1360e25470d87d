import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import { join } from "node:path";
import type { SqsEvent } from "./sqs-event.ts";

/** Stands for the user's package in the processes of a test: what each does is told by its message or its input. */

interface Context {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** Of a configuration that is a file, the file alone. */
export function modulesOf(path: string) {
  return { modules: existsSync(path) ? [path] : [] };
}

/** One workflow, whose digest is the file's text. */
export async function digestManifest(
  config: { readonly path: string },
  read: (file: string) => Promise<string>,
): Promise<Record<string, string>> {
  return existsSync(config.path) ? { "hello@1": await read(config.path) } : {};
}

export async function loadConfig(path: string) {
  if (path.endsWith("broken.config.ts")) throw new Error("the configuration is broken");
  if (path.endsWith("beside.config.ts") && process.env["GHOULS_SERVICE_SIGNER_URL"] === undefined)
    throw new Error("nobody says where the signer is");
  const queue = { batchSize: 2, concurrency: 2, worker: "function", functionTimeout: "5s" } as const;
  await Promise.resolve();
  return {
    path,
    root: path,
    config: { path },
    queues: { runs: queue, "long-rites": { ...queue, batchSize: 1, concurrency: 1 } },
    examples: [
      { workflow: "hello", input: { name: "a" } },
      { workflow: "release-gate", input: { outcome: "DONE" } },
    ],
    databaseSchema: "ghouls",
    actsMarginSeconds: 1,
    leaseMs: 120_000,
    beatMs: 30_000,
    capacities: { gpu: 1 },
    dev: { services: {}, buckets: {} },
  };
}

let invocations = 0;

export function createWorker(config: { readonly path: string }) {
  return async (event: SqsEvent | string, context: Context): Promise<unknown> => {
    invocations += 1;
    const command = typeof event === "string" ? event : (event.Records[0]?.body ?? "");
    const [verb = "", argument = ""] = command.split(" ");
    switch (verb) {
      case "echo":
        return {
          worker: process.env["GHOULS_WORKER_ID"],
          config: config.path,
          invocations,
          remainingMs: context.getRemainingTimeInMillis(),
          secret: process.env["GHOULS_MIGRATION_DATABASE_URL"] ?? null,
        };
      case "nothing":
        return undefined;
      case "circular":
        return 1n;
      case "throw":
        throw new RangeError("out of range");
      case "throw-text":
        // oxlint-disable-next-line typescript/only-throw-error -- what a careless handler does
        throw "text";
      case "exit":
        process.exit(Number(argument));
        break;
      case "print":
        process.stdout.write("a line\n");
        process.stderr.write("an error \u001b[31mline\n");
        return {};
      case "hang":
        return new Promise(() => undefined);
      case "block":
        writeFileSync(argument, String(process.pid));
        for (;;) if (existsSync(join(argument, "never"))) break;
        return {};
      case "write-environment":
        writeFileSync(argument, JSON.stringify(process.env));
        return {};
      case "wait-for":
        writeFileSync(`${argument}.waiting`, "");
        while (!existsSync(argument)) await new Promise((resolve) => setTimeout(resolve, 10));
        return {};
      default:
        return { batchItemFailures: [] };
    }
    return {};
  };
}

export function createReconciler() {
  return () => ({ passes: 0 });
}

/** Keeps this process from listening where the configuration says so. */
function heedDeafness(path: string): void {
  if (!existsSync(path) || !readFileSync(path, "utf8").includes("deaf")) return;
  Server.prototype.listen = () => {
    throw new Error("it is deaf");
  };
}

/** Runs of this process: each has one more entry at every look, and ends as its input says. */
export function createFetch(config: { readonly path: string }) {
  heedDeafness(config.path);
  const runs = new Map<string, { workflow: string; outcome: string; looks: number; at: string }>();
  return async (request: Request): Promise<Response> => {
    // It has no ledger: it knows a key by its beginning.
    if (request.headers.get("authorization")?.startsWith("Bearer ghouls_") !== true) {
      return Response.json({ detail: "no such token", fix: "take one of dev.json" }, { status: 401 });
    }
    const [, , , id = "", view] = new URL(request.url).pathname.split("/");
    if (request.method === "POST") {
      const { workflow, input } = (await request.json()) as { workflow: string; input: { outcome?: string } };
      const runId = `run-${runs.size + 1}`;
      runs.set(runId, { workflow, outcome: input.outcome ?? "DONE", looks: 0, at: new Date().toISOString() });
      return Response.json(
        { runId, created: true, key: request.headers.get("idempotency-key") },
        { status: 202 },
      );
    }
    const run = runs.get(id);
    if (run === undefined) return new Response("nothing here", { status: 404 });
    if (view !== "timeline") {
      return Response.json({ runId: id, status: run.outcome, enqueueSeq: 1, steps: 2, error: null });
    }
    run.looks += 1;
    const entries = [
      { kind: "admitted", at: run.at },
      { kind: "claimed", at: run.at, enqueueSeq: 1, worker: "w" },
      { kind: "finished", at: run.at, status: run.outcome, errorCode: null },
    ].slice(0, run.looks);
    return Response.json({ runId: id, status: entries.length === 3 ? run.outcome : "RUNNING", entries });
  };
}
