import { fileURLToPath } from "node:url";
import {
  GhoulsError,
  QUEUE_NAME,
  durationMs,
  type Built,
  type Duration,
  type NoResources,
  type OnWorkerLoss,
  type RequiredAuthority,
  type ResourceDefinition,
  type WorkflowContext,
  type WorkflowDefinition,
} from "@ghouls/core";
import type * as z from "zod";

export interface WorkflowOptions<
  Input extends z.ZodType,
  Output extends z.ZodType,
  Resources extends object = NoResources,
  GrantName extends string = never,
  Name extends string = string,
> {
  /** Stable: runs are pinned to name, version and digest. */
  readonly name: Name;
  /** A whole number from 1. */
  readonly version: number;
  /** Has no default: "resume" says that steps may be repeated after a lost worker, "fail" ends the run. */
  readonly onWorkerLoss: OnWorkerLoss;
  /** Queue of runs that name none; "runs" where absent. */
  readonly queue?: string;
  /** How long a run may take from its admission, such as "7d". */
  readonly deadline?: Duration;
  readonly input: Input;
  /** What `run` returns is checked by it. */
  readonly output?: Output;
  /**
   * Digests of earlier code, as `ghouls workflows` and a refusal name them. This code carries their runs on: each journal
   * is replayed against it before anything of it runs, and one that does not fit quarantines its run.
   */
  readonly accepts?: readonly string[];
  /**
   * Roles that the run's recorded authority must have, and must have still, on every hop. Where it has not, the run fails as
   * `authority_revoked`, and nothing more of it runs.
   */
  readonly authority?: RequiredAuthority;
  /** Capabilities that each hop holds. One that is refused fails the run as `grant_refused`. */
  readonly grants?: readonly GrantName[];
  /**
   * What each hop builds before the code runs, in this order, and disposes after its end, in the reverse one: connections,
   * clients, folders. It is in `ctx.resources` under its name, and typed there where it stands above `run`.
   */
  readonly resources?: Resources & { readonly [Name in keyof Resources]: ResourceDefinition<GrantName> };
  /** `import.meta.url` of the module that defines the workflow, where `workflow` is called by code elsewhere. */
  readonly module?: string;
  run(
    context: WorkflowContext<Built<Resources>, GrantName>,
    input: z.output<Input>,
  ): Promise<z.input<Output>>;
}

const KNOWN = new Set([
  "name",
  "version",
  "onWorkerLoss",
  "queue",
  "deadline",
  "input",
  "output",
  "accepts",
  "authority",
  "grants",
  "resources",
  "module",
  "run",
]);
const DIGEST = /^[0-9a-f]{64}$/;
const NAME_OF_GRANT = /^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u;
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/i;

/**
 * Defines a workflow.
 * @throws GhoulsError configuration_invalid, with what to write instead
 */
export function workflow<
  Input extends z.ZodType,
  Output extends z.ZodType,
  Resources extends Readonly<Record<string, ResourceDefinition<GrantName>>> = NoResources,
  const GrantName extends string = never,
  const Name extends string = string,
>(
  options: WorkflowOptions<Input, Output, Resources, GrantName, Name>,
): WorkflowDefinition<z.output<Input>, z.output<Output>, z.input<Input>, Name> {
  const refuse = (message: string, fix: string) =>
    new GhoulsError("configuration_invalid", `workflow "${String(options.name)}": ${message}`, { fix });
  if (typeof options.name !== "string" || !NAME.test(options.name)) {
    throw refuse(
      "the name is not taken",
      'Use letters, digits, ".", "_" and "-", at most 100, such as "release-gate".',
    );
  }
  const unknown = Object.keys(options).find((key) => !KNOWN.has(key));
  if (unknown !== undefined)
    throw refuse(`the option "${unknown}" is not known`, `Known are: ${[...KNOWN].join(", ")}.`);
  if (!Number.isInteger(options.version) || options.version < 1 || options.version > 1_000_000) {
    throw refuse("the version is not taken", "Use a whole number from 1.");
  }
  if (options.onWorkerLoss !== "resume" && options.onWorkerLoss !== "fail") {
    throw refuse(
      options.onWorkerLoss === undefined
        ? "onWorkerLoss is missing"
        : `onWorkerLoss "${String(options.onWorkerLoss)}" is not taken`,
      'Say "resume" if its steps may be repeated after a lost worker, or "fail" if a lost worker ends the run.',
    );
  }
  if (options.queue !== undefined && !QUEUE_NAME.test(options.queue)) {
    throw refuse(`the queue "${options.queue}" is not taken`, "Name one of the configuration's queues.");
  }
  const accepts = options.accepts ?? [];
  const odd = accepts.find((digest) => !DIGEST.test(digest));
  if (odd !== undefined)
    throw refuse(
      `"${odd}" is no digest that it could accept`,
      "Give the 64 digits that `ghouls workflows` prints.",
    );
  const problem = problemOfHoldings(options);
  if (problem !== undefined) throw refuse(...problem);
  if (typeof options.input?.safeParseAsync !== "function")
    throw refuse("input is no schema", "Give a zod schema.");
  if (typeof options.run !== "function")
    throw refuse("run is no function", "Give `async run(ctx, input) { … }`.");
  return {
    name: options.name,
    version: options.version,
    onWorkerLoss: options.onWorkerLoss,
    queue: options.queue,
    deadlineMs: options.deadline === undefined ? undefined : durationMs(options.deadline),
    input: options.input as unknown as z.ZodType<z.output<Input>, z.input<Input>>,
    output: options.output as unknown as z.ZodType<z.output<Output>> | undefined,
    accepts: [...new Set(accepts)],
    authority: options.authority,
    grants: options.grants ?? [],
    resources: (options.resources ?? {}) as Readonly<Record<string, ResourceDefinition>>,
    module: pathOf(options.module ?? callerOf(workflow)),
    // The engine gives each hop what its definition lists.
    run: (context, input) =>
      options.run(context as WorkflowContext<Built<Resources>, GrantName>, input) as Promise<
        z.output<Output>
      >,
  };
}

/** What is wrong with what each hop is to hold, and what to write instead. */
function problemOfHoldings({
  authority,
  grants = [],
  resources = {},
}: {
  readonly authority?: unknown;
  readonly grants?: unknown;
  readonly resources?: unknown;
}): [message: string, fix: string] | undefined {
  if (authority !== undefined && !isRequiredAuthority(authority))
    return ["authority names no roles", 'Give authority: { roles: ["releaser"] }.'];
  if (!isNames(grants))
    return [
      "grants is no list of distinct names",
      'Give grants: ["reports:write"]; a name is one line, at most 200 characters.',
    ];
  if (!isRecord(resources)) return ["resources is no object", RESOURCES_FIX];
  const odd = Object.entries(resources).find(([, one]) => !isResource(one));
  return odd === undefined ? undefined : [`the resource "${odd[0]}" cannot be built`, RESOURCES_FIX];
}

const RESOURCES_FIX =
  "Give resources: { db: { build: async () => …, dispose: async (db) => … } }; dispose may be left out.";

function isRequiredAuthority(value: unknown): boolean {
  return isRecord(value) && isNames(value["roles"]) && Object.keys(value).length === 1;
}

function isNames(value: unknown): boolean {
  if (!Array.isArray(value) || new Set(value).size !== value.length) return false;
  return value.every((one: unknown) => typeof one === "string" && NAME_OF_GRANT.test(one));
}

function isResource(value: unknown): boolean {
  if (!isRecord(value) || typeof value["build"] !== "function") return false;
  const { dispose } = value;
  return dispose === undefined || typeof dispose === "function";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pathOf(module: string | undefined): string | undefined {
  return module?.startsWith("file:") ? fileURLToPath(module) : module;
}

/** The file of the code that called a function of ours, by V8's structured stack. */
function callerOf(boundary: (...args: never[]) => unknown): string | undefined {
  const holder: { stack?: unknown } = {};
  const prepare = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
  try {
    Error.prepareStackTrace = (_error, frames) => frames[0]?.getFileName();
    Error.captureStackTrace(holder, boundary);
    return typeof holder.stack === "string" ? holder.stack : undefined;
  } finally {
    if (prepare === undefined) Reflect.deleteProperty(Error, "prepareStackTrace");
    else Object.defineProperty(Error, "prepareStackTrace", prepare);
  }
}
