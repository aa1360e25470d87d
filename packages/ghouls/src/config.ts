import {
  BUILT_IN_ROLES,
  DEFAULT_QUEUES,
  GhoulsError,
  PERMISSIONS,
  QUEUE_NAME,
  ROLE_NAME,
  QueueSettings,
  EventsSettings,
  RetentionSettings,
  TimingSettings,
  durationMs,
  identityCodec,
  type AnyService,
  type AnyWorkflow,
  type Authenticator,
  type AuthorityCheck,
  type Codec,
  type DecisionSource,
  type GrantProvider,
  type Permission,
  type RoleTable,
} from "@ghouls/core";
import { DEFAULT_EXECUTION_SETTINGS, Registry, type Route } from "@ghouls/engine";
import * as z from "zod";
import { DevShape, type DevOptions, type DevSettings } from "./dev-settings.ts";

/** What a user writes in ghouls.config.ts. */
export interface ConfigOptions {
  readonly workflows: readonly AnyWorkflow[];
  /** Chooses workflow, queue and priority for a request that names no workflow. */
  readonly route?: Route;
  /** `runs` and `rites` where absent; each has workers of its own. */
  readonly queues?: Readonly<Record<string, z.input<typeof QueueSettings>>>;
  readonly database?: {
    /** Name of the schema; "ghouls" by default, GHOULS_SCHEMA overrides it. */
    readonly schema?: string;
    /** Connections of a process; 2 by default, the most that a function may hold. */
    readonly poolSize?: number;
    /** Named statements. By default with the driver pg, unless the host's name has "-pooler" in it. */
    readonly preparedStatements?: boolean;
  };
  /** The times of the protocol; for tests and demonstrations they may be short. */
  readonly timing?: z.input<typeof TimingSettings>;
  /**
   * How long bodies stay: `bodies` of ended runs for ever where absent, `steps` (copies for people) and `repairs` "30d". What
   * is emptied keeps its digest; a run whose bodies are gone cannot be redriven.
   */
  readonly retention?: z.input<typeof RetentionSettings>;
  /** How long what was said live (`ctx.stream`, `ctx.emit`) can be read again: `keep`, "1d" where absent. */
  readonly events?: z.input<typeof EventsSettings>;
  readonly reconciler?: {
    /** Whether a hint in EVENTS_TABLE lets the scheduled reconciler leave an idle database asleep; true by default. */
    readonly hint?: boolean;
  };
  /** Verifies bearer tokens that are no API keys of the ledger, such as those of an identity provider. Keys are known without it. */
  readonly auth?: Authenticator;
  /**
   * Says on every hop whether what a run was admitted with still holds, for workflows that require an `authority`. The
   * ledger's keys where absent: give one where those who ask for runs have none, but tokens that `auth` verifies.
   */
  readonly authority?: AuthorityCheck;
  /** Gives each hop the `grants` of its workflow; those that `ghouls grants` keeps in the ledger where absent. */
  readonly grants?: GrantProvider;
  /** Who decides consents besides people, by the name that `ctx.consent(…, { source })` gives. */
  readonly decisionSources?: Readonly<Record<string, DecisionSource>>;
  /** Who does delegated jobs; `ctx.delegate` takes one of these very objects. */
  readonly services?: Readonly<Record<string, AnyService>>;
  /** What runs may reserve units of with `ctx.reserve`: how many of each there are, over all runs of this ledger. */
  readonly capacities?: Readonly<Record<string, number>>;
  readonly egress?: {
    /**
     * Origins (scheme, host and port) that services may have though their addresses are no public ones, such as
     * "http://127.0.0.1:4801". Admitted outside Lambda only.
     */
    readonly origins?: readonly string[];
  };
  /** Roles beside the built-in ones, with their permissions. A role that is named nowhere has none. */
  readonly roles?: Readonly<Record<string, readonly Permission[]>>;
  /** Payloads pass it on their way to and from the ledger. */
  readonly codec?: Codec;
  readonly build?: {
    /** Packages that cannot be bundled, such as those that read files of their own: they are deployed beside the bundle. */
    readonly external?: readonly string[];
  };
  /** What `ghouls dev` runs beside the project on one machine: services and buckets of its own. */
  readonly dev?: DevOptions;
  /** Runs that `ghouls dev --once` carries to their end. */
  readonly examples?: readonly Example[];
}

export interface Example {
  readonly workflow: string;
  readonly input: unknown;
}

/** A checked configuration with every default filled in. */
export interface Config {
  readonly workflows: readonly AnyWorkflow[];
  readonly route: Route | undefined;
  readonly queues: Readonly<Record<string, QueueSettings>>;
  readonly database: {
    readonly schema: string;
    readonly poolSize: number;
    readonly preparedStatements: boolean | undefined;
  };
  readonly timing: TimingSettings;
  readonly retention: RetentionSettings;
  readonly events: EventsSettings;
  readonly reconciler: { readonly hint: boolean };
  readonly auth: Authenticator | undefined;
  /** The ledger's own where undefined. */
  readonly authority: AuthorityCheck | undefined;
  readonly grants: GrantProvider | undefined;
  /** With the built-in ones. */
  readonly roles: RoleTable;
  readonly codec: Codec;
  readonly decisionSources: Readonly<Record<string, DecisionSource>>;
  readonly services: Readonly<Record<string, AnyService>>;
  readonly capacities: Readonly<Record<string, number>>;
  readonly egress: { readonly origins: readonly string[] };
  readonly build: { readonly external: readonly string[] };
  readonly dev: DevSettings;
  readonly examples: readonly Example[];
}

/** Of queues, sources, services and capacities. */
const Name = z
  .string()
  .regex(
    QUEUE_NAME,
    "a name has lower-case letters, digits and -, begins with a letter, and is at most 32 long",
  );

const Shape = z.strictObject({
  workflows: z.array(z.custom<AnyWorkflow>(isWorkflow, "not made by workflow()")),
  route: z.custom<Route>(isFunction, "must be a function").optional(),
  queues: z
    .record(Name, QueueSettings)
    .refine((queues) => Object.keys(queues).length > 0, "name at least one queue")
    .prefault(DEFAULT_QUEUES),
  database: z
    .strictObject({
      schema: z.string().default("ghouls"),
      poolSize: z.int().min(1).max(50).default(2),
      preparedStatements: z.boolean().optional(),
    })
    .prefault({}),
  timing: TimingSettings.prefault({}),
  retention: RetentionSettings.prefault({}),
  events: EventsSettings.prefault({}),
  reconciler: z.strictObject({ hint: z.boolean().default(true) }).prefault({}),
  auth: z.custom<Authenticator>(isFunction, "must be a function").optional(),
  authority: z.custom<AuthorityCheck>((value) => hasFunction(value, "check"), "must have check").optional(),
  grants: z.custom<GrantProvider>((value) => hasFunction(value, "acquire"), "must have acquire").optional(),
  roles: z
    .record(
      z
        .string()
        .regex(ROLE_NAME, "letters, digits, '.', '_' and '-', at most 64")
        .refine((name) => !Object.hasOwn(BUILT_IN_ROLES, name), "is built in: give yours another name"),
      z.array(z.enum(PERMISSIONS, { error: `must be one of: ${PERMISSIONS.join(", ")}` })),
    )
    .default({}),
  codec: z
    .custom<Codec>(
      (value) => hasFunction(value, "encode") && hasFunction(value, "decode"),
      "must have encode and decode",
    )
    .optional(),
  decisionSources: z
    .record(
      Name,
      z.custom<DecisionSource>((value) => hasFunction(value, "lookUp"), "must have lookUp"),
    )
    .default({}),
  services: z
    .record(Name, z.custom<AnyService>(isService, "must be a service, such as httpService makes one"))
    .default({}),
  capacities: z.record(Name, z.int().min(1).max(1_000_000)).default({}),
  egress: z
    .strictObject({
      origins: z
        .array(z.string().refine(isOrigin, 'an exact origin, such as "http://127.0.0.1:4801"'))
        .default([]),
    })
    .prefault({}),
  build: z.strictObject({ external: z.array(z.string().min(1)).default([]) }).prefault({}),
  dev: DevShape,
  examples: z.array(z.strictObject({ workflow: z.string(), input: z.unknown() })).default([]),
});

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isWorkflow(value: unknown): boolean {
  return typeof value === "object" && value !== null && "onWorkerLoss" in value && hasFunction(value, "run");
}

function isService(value: unknown): boolean {
  return ["submit", "lookUp", "cancel"].every((name) => hasFunction(value, name));
}

/** Scheme, host and port as a URL writes them, and nothing else. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function hasFunction(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && isFunction((value as Record<string, unknown>)[name]);
}

/**
 * Checks a configuration and fills in its defaults. The one entry: command, host and handlers know workflows through it.
 * @throws GhoulsError configuration_invalid with the paths of what is wrong
 */
export function defineConfig(options: ConfigOptions): Config {
  const parsed = Shape.safeParse(options);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => ({
      path: issue.path.map(String),
      message: messageOf(issue),
    }));
    throw new GhoulsError("configuration_invalid", "the configuration is not valid", {
      issues: issues.map(({ path, message }) => ({ path: `/${path.join("/")}`, message })),
      fix: issues.map(({ path, message }) => `${path.join(".") || "the top level"}: ${message}`).join("; "),
    });
  }
  const { data } = parsed;
  if (durationMs(data.timing.beat) * 2 > durationMs(data.timing.lease)) {
    throw new GhoulsError("configuration_invalid", "the heartbeat is not well inside the lease", {
      issues: [{ path: "/timing/beat", message: "must be at most half of the lease" }],
      fix: "Let timing.beat be a quarter of timing.lease.",
    });
  }
  refuseUnknownExamples(data.workflows, data.examples);
  refuseSlowServices(data.services, data.timing.actsMargin);
  for (const { name, queue } of data.workflows) {
    if (queue !== undefined && !Object.hasOwn(data.queues, queue)) {
      throw new GhoulsError(
        "configuration_invalid",
        `workflow "${name}" names the queue "${queue}", which is not configured`,
        {
          fix: `Add it to queues, or name one of: ${Object.keys(data.queues).join(", ")}.`,
        },
      );
    }
  }
  new Registry(data.workflows.map((definition) => ({ definition, digest: "" })));
  return {
    workflows: data.workflows,
    route: data.route,
    queues: data.queues,
    database: { ...data.database, preparedStatements: data.database.preparedStatements },
    timing: data.timing,
    retention: data.retention,
    events: data.events,
    reconciler: data.reconciler,
    auth: data.auth,
    authority: data.authority,
    grants: data.grants,
    roles: { ...data.roles, ...BUILT_IN_ROLES },
    codec: data.codec ?? identityCodec,
    decisionSources: data.decisionSources,
    services: data.services,
    capacities: data.capacities,
    egress: data.egress,
    build: data.build,
    dev: data.dev,
    examples: data.examples,
  };
}

/** A refused name has its reasons inside; the issue itself says no more than that the key is invalid. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_key") return issue.message;
  return issue.issues.map(({ message }) => message).join("; ");
}

/**
 * A question must be over in the time that its job has in a pass of the reconciler, else it is cut short there; and one that
 * was sent must be over when its sender is believed to be.
 */
function refuseSlowServices(services: Readonly<Record<string, AnyService>>, actsMargin: string): void {
  const { ownerDeadlineMs } = DEFAULT_EXECUTION_SETTINGS;
  const long = Object.entries(services).find(([, { times }]) => times.timeoutMs > ownerDeadlineMs);
  if (long !== undefined)
    throw new GhoulsError(
      "configuration_invalid",
      `the service "${long[0]}" may take ${long[1].times.timeoutMs} ms to answer, more than the ${ownerDeadlineMs} ms that a job has of a pass`,
      {
        fix: `Let its timeout be at most ${ownerDeadlineMs / 1_000}s. A service answers "accepted" at once, and works on after that.`,
      },
    );
  const slow = Object.entries(services).find(([, { times }]) => times.timeoutMs > durationMs(actsMargin));
  if (slow === undefined) return;
  const [name, { times }] = slow;
  throw new GhoulsError(
    "configuration_invalid",
    `the service "${name}" may take ${times.timeoutMs} ms to answer, more than timing.actsMargin (${actsMargin})`,
    { fix: "Let timing.actsMargin be at least the timeout of every service." },
  );
}

function refuseUnknownExamples(workflows: readonly AnyWorkflow[], examples: readonly Example[]): void {
  const names = new Set(workflows.map((workflow) => workflow.name));
  const unknown = examples.find((example) => !names.has(example.workflow));
  if (unknown === undefined) return;
  throw new GhoulsError(
    "configuration_invalid",
    `an example names the workflow "${unknown.workflow}", which is not registered`,
    {
      fix: `Name one of: ${[...names].join(", ") || "none is registered"}.`,
    },
  );
}
