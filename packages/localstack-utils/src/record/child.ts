import crypto from "node:crypto";
import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { attributesOf } from "./attributes.ts";
import { answerRpc } from "./command-server.ts";
import type { Engine, Monitor, Mocks, ReadRequest, RegisterRequest, Rpc } from "./engine.ts";
import type { App, Graph, JsonObject, Place, ProviderCall, Resource, RpcCall } from "./graph.ts";
import { plainer } from "./plain.ts";
import { answerOf } from "./provider-functions.ts";

/** What one recording needs to know. */
export interface Recording {
  readonly app: App;
  readonly root: string;
  readonly place: Place;
  /** Where the graph goes as JSON. */
  readonly result: string;
}

interface Found {
  readonly resources: Resource[];
  readonly calls: ProviderCall[];
  readonly rpc: RpcCall[];
}

type Fail = (error: unknown) => void;

/**
 * Runs an infrastructure program under mocks, in a process of its own: Pulumi and SST keep theirs in globals.
 * The graph is written when the process has come to rest, since an `apply` may register more at any time. What failed
 * is printed then instead, and the exit code is 1: Pulumi itself loses the message of a failed provider function and
 * leaves its output open for ever.
 */
export async function recordProgram(
  engine: Engine,
  recording: Recording,
  program: () => Promise<unknown>,
): Promise<void> {
  const { app, root, place } = recording;
  const found: Found = { resources: [], calls: [], rpc: [] };
  const errors: unknown[] = [];
  const fail: Fail = (error) => errors.push(error);
  let outputs: JsonObject | undefined;
  process.on("unhandledRejection", fail);
  process.on("uncaughtException", fail);
  process.on("beforeExit", () => end(recording, found, outputs, errors));
  fixRandomNames();
  const plain = plainer(engine, root);
  if (engine.rpc !== undefined) answerCalls(engine.rpc, found, place, root, plain);
  const latest: Latest = {};
  const mocks = mocksOf(found, place, plain, fail, latest);
  const { runtime } = engine.pulumi;
  await runtime.setMocks(mocks, app.name, app.stage, false, "organization");
  const monitor = monitorOf(engine, mocks, latest, app);
  runtime.setMockOptions(monitor, app.name, app.stage, false, "organization");
  try {
    outputs = await plain((await runtime.runInPulumiStack(program)) ?? {});
  } catch (error) {
    fail(error);
  }
}

type Plain = ReturnType<typeof plainer>;

function mocksOf(found: Found, place: Place, plain: Plain, fail: Fail, latest: Latest): Mocks {
  return {
    newResource: async (args) => {
      const { request } = latest;
      if (request === undefined) throw new Error(`${args.name} came without a request`);
      const secrets: string[] = [];
      const inputs = await plain(args.inputs, secrets);
      try {
        const state = attributesOrGiven(args, inputs, place);
        found.resources.push(resourceOf(args, request, inputs, secrets, state));
        return { id: state.id, state: { ...args.inputs, ...state } };
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    call: async ({ token, inputs }) => {
      const asked = await plain(inputs);
      found.calls.push({ token, inputs: asked });
      try {
        return answerOf(token, asked, place);
      } catch (error) {
        fail(error);
        throw error;
      }
    },
  };
}

/** Physical names end in random letters: the same each time. */
function fixRandomNames(): void {
  crypto.randomBytes = ((size: number) => Buffer.alloc(size)) as typeof crypto.randomBytes;
  syncBuiltinESMExports();
}

function answerCalls(rpc: Rpc, found: Found, place: Place, root: string, plain: Plain): void {
  rpc.call = async (method, args) => {
    const asked = await plain(args as object);
    found.rpc.push({ method, args: asked });
    return answerRpc(method, asked, place, root);
  };
}

interface Request {
  readonly urn: string;
  readonly external: boolean;
  readonly request: ReadRequest & Partial<RegisterRequest>;
}

/** The request that the monitor handles just now. */
interface Latest {
  request?: Request;
}

/** Answers as Pulumi's engine. The mocks are told neither parent nor dependencies nor options: it keeps the request. */
function monitorOf(engine: Engine, mocks: Mocks, latest: Latest, app: App): Monitor {
  class Recorder extends engine.MockMonitor {
    // Pulumi's mock puts the stack into the types of its children, the engine does not; and SST derives names from it.
    override newUrn(parent: string, type: string, name: string): string {
      const above = parent === "" ? undefined : parent.split("::")[2];
      const prefix = above === undefined || above === "pulumi:pulumi:Stack" ? "" : `${above}$`;
      return `urn:pulumi:${app.stage}::${app.name}::${prefix}${type}::${name}`;
    }
    // Both call the mock before they first wait.
    override registerResource(request: RegisterRequest, callback: unknown): Promise<void> {
      latest.request = this.#requestOf(request, false);
      return super.registerResource(request, callback);
    }
    override readResource(request: ReadRequest, callback: unknown): Promise<void> {
      latest.request = this.#requestOf(request, true);
      return super.readResource(request, callback);
    }
    #requestOf(request: ReadRequest, external: boolean): Request {
      const urn = this.newUrn(request.getParent(), request.getType(), request.getName());
      return { urn, external, request };
    }
  }
  return new Recorder(mocks);
}

type NewResource = Parameters<Mocks["newResource"]>[0];

/** A component computes nothing; what exists already has the id that it was looked up by. */
function attributesOrGiven(args: NewResource, inputs: JsonObject, place: Place): { id: string } & JsonObject {
  if (args.custom !== true) return { id: "" };
  if (args.id === undefined || args.id === "") return attributesOf(args.type, args.name, inputs, place);
  return { ...attributesOf(args.type, args.name, { name: args.id, ...inputs }, place), id: args.id };
}

function resourceOf(
  { type, name, custom = false }: NewResource,
  { urn, external, request }: Request,
  inputs: JsonObject,
  secrets: readonly string[],
  state: JsonObject,
): Resource {
  const parent = request.getParent();
  return {
    urn,
    type,
    name,
    custom,
    ...(external && { external }),
    ...(parent !== "" && { parent }),
    dependsOn: request.getDependenciesList().toSorted(),
    inputs,
    secrets: secrets.toSorted(),
    state,
    ...(request.getProtect?.() && { protect: true }),
    ...(request.getRetainondelete?.() && { retainOnDelete: true }),
  };
}

/** Nothing more can happen: writes the graph, or says what went wrong. */
function end(
  { app, result }: Recording,
  found: Found,
  outputs: JsonObject | undefined,
  errors: readonly unknown[],
): void {
  const said = errors.map((error) =>
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  );
  if (outputs === undefined)
    said.push(`an output was never resolved, after ${found.resources.length} resources`);
  if (outputs === undefined || errors.length > 0) {
    process.stderr.write(`${[...new Set(said)].join("\n---\n")}\n`);
    process.exit(1);
  }
  const graph: Graph = {
    app,
    resources: found.resources.toSorted((a, b) => (a.urn < b.urn ? -1 : 1)),
    calls: sorted(found.calls),
    rpc: sorted(found.rpc),
    outputs,
  };
  writeFileSync(result, JSON.stringify(graph));
  process.exit(0);
}

function sorted<T>(list: readonly T[]): T[] {
  return list
    .map((item) => ({ item, key: JSON.stringify(item) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}
