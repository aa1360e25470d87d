import type { Judgement, QueueSettings, WorkflowPin } from "@ghouls/core";
import type { WorkerEnds } from "ghouls/processes/worker-ends";

/** What the host needs of the user's configuration, as `loadConfig` of the package ghouls gives it. */
export interface LoadedConfig {
  readonly path: string;
  readonly root: string;
  readonly queues: Readonly<Record<string, QueueSettings>>;
  readonly examples: readonly Example[];
  readonly databaseSchema: string;
  /** What a request that a worker sent may still do after the worker has ended, in seconds. */
  readonly actsMarginSeconds: number;
  /** How long a claim is believed without a heartbeat, and from one heartbeat to the next, in milliseconds. */
  readonly leaseMs: number;
  readonly beatMs: number;
  /** Units of each capacity that runs may reserve. */
  readonly capacities: Readonly<Record<string, number>>;
  /** What the host runs beside the project. */
  readonly dev: Beside;
}

export interface Beside {
  /** The modules of services, as absolute paths, by the services' names. */
  readonly services: Readonly<Record<string, { readonly module: string }>>;
  /** Names of S3 buckets by the variables that functions find them in. */
  readonly buckets: Readonly<Record<string, string>>;
}

/** A run that `--once` submits. */
export interface Example {
  readonly workflow: string;
  readonly input: unknown;
  readonly idempotencyKey?: string;
}

interface Role {
  readonly name: string;
  readonly password: string;
}

/** The part of the ledger that the host uses itself. All else happens in child processes. */
export interface LedgerParts {
  createRoles(
    adminConnectionString: string,
    roles: {
      readonly schema: string;
      readonly migrator: Role;
      readonly application: Role;
      readonly mayCreateSchemas?: boolean;
    },
  ): Promise<unknown>;
  migrate(options: {
    readonly connectionString: string;
    readonly schema: string;
    readonly applicationRole: string;
  }): Promise<unknown>;
  openLedger(options: {
    readonly connectionString: string;
    readonly schema: string;
    readonly maxConnections: number;
    readonly applicationName: string;
    /** Chance in [0, 1) for the spread of retries. */
    readonly chance: () => number;
  }): HostLedger | Promise<HostLedger>;
}

/** Where the keys of a data folder are made; those that are there stay as they are. */
export interface KeyMaker {
  readonly keys: {
    create(
      keys: readonly {
        readonly tenantId: string;
        readonly keyId: string;
        readonly digest: string;
        readonly subject: string;
        readonly roles: readonly string[];
        readonly permissions: readonly string[];
        readonly createdBy: string;
        readonly expiresInMs: null;
      }[],
    ): Promise<readonly { readonly revokedAt: Date | null }[]>;
  };
}

/** What the host itself asks of the ledger. */
export interface HostLedger extends WorkerEnds, KeyMaker {
  readonly capacities: {
    /** Says how many units there are of each, as a deploy does. */
    say(capacities: Readonly<Record<string, number>>): Promise<void>;
  };
  readonly deliveries: WorkerEnds["deliveries"] & HeldLeases;
  readonly integrity: {
    /** Keeps what contradicts itself in the ledger, and answers what stands. */
    judge(options: { readonly by: string }): Promise<Judgement>;
  };
  readonly releases: {
    /** All that are there, with the open runs that are pinned to each. */
    all(): Promise<
      readonly { readonly workflow: WorkflowPin; readonly bundle: string; readonly runs: number }[]
    >;
  };
  readonly runs: {
    /** How many open runs of a tenant are pinned to each of these. */
    openOfPins(
      tenantId: string,
      pins: readonly WorkflowPin[],
    ): Promise<readonly (WorkflowPin & { readonly runs: number })[]>;
    /** The newest runs of a tenant that would go on, if they were pinned to one of these. */
    stranded(
      tenantId: string,
      carried: readonly Pick<WorkflowPin, "name" | "digest">[],
      limit: number,
    ): Promise<StrandedRuns>;
  };
}

export interface StrandedRuns {
  readonly runs: readonly {
    readonly runId: string;
    readonly status: string;
    readonly workflow: WorkflowPin;
  }[];
  /** With those that are not among them. */
  readonly count: number;
}

export interface HeldLeases {
  /** Extends the leases of all that a worker holds, in its place. */
  beatOfWorker(worker: string, leaseSeconds: number): Promise<number>;
}

/** What the host is put together from; tests put others in. */
export interface Parts {
  loadConfig(path: string): Promise<LoadedConfig>;
  readonly ledger: LedgerParts;
  /** The module that the child processes take their factories from: a package name or a file URL. */
  readonly handlers: string;
  /** The module that publishes code; none is published where it is absent. */
  readonly functions?: string;
}
