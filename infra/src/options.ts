/** A value, or one that is known only when its resource exists: an output of another component. */
export type Input<T> = T | Promise<T> | { apply(use: (value: T) => unknown): unknown };

/** The two globals of sst.config.ts. A package cannot see them, so they are handed over. */
export interface Platform {
  readonly sst: object;
  readonly aws: object;
}

/** Where the connection string comes from. No variable of a function, and no state of SST, holds a password. */
export type DatabaseOptions = {
  /** "pg" by default; "neon" goes over WebSockets. */
  readonly driver?: "pg" | "neon";
  /** Role that the application connects as; "ghouls_app" by default. */
  readonly applicationRole?: string;
  /** Connections that the server leaves to Ghouls; 90 by default. The worst case must fit, else the deploy is refused. */
  readonly maxConnections?: number;
} & (
  | {
      /** ARN of a secret of Secrets Manager: a connection string, or RDS's JSON. The application's role. */
      readonly secret: Input<string>;
      /** The same for the migrator's role. */
      readonly migrationSecret: Input<string>;
      /** ARN of the key that encrypts them, where it is the account's own. */
      readonly key?: Input<string>;
    }
  | {
      /** RDS tokens in the place of passwords. */
      readonly iam: {
        /** Connection strings without a password, and the ARNs of `rds-db:…:dbuser:…/<role>`. */
        readonly application: { readonly url: Input<string>; readonly user: Input<string> };
        readonly migrator: { readonly url: Input<string>; readonly user: Input<string> };
      };
    }
);

export interface VpcOptions {
  readonly id: Input<string>;
  readonly subnets: Input<string[]>;
  readonly securityGroups: Input<string[]>;
  /** Route tables of the subnets: DynamoDB's endpoint is a route. Not needed where `endpoints` is false. */
  readonly routeTables?: Input<string[]>;
  /** Makes the endpoints that the functions need; false where there is a NAT, or they exist. True by default. */
  readonly endpoints?: boolean;
}

/** What the egress function has of the project's own; it is made where the configuration names services. */
export interface EgressOptions {
  /**
   * Variables of the egress function alone, such as an address of a service. They stand in the state and in the console of
   * AWS: a secret is better read from Secrets Manager by the service's `headers()`, with a permission for it.
   */
  readonly environment?: Readonly<Record<string, Input<string>>>;
  /** What its role may do beside its log, such as `secretsmanager:GetSecretValue` on the ARN of a secret. */
  readonly permissions?: readonly {
    readonly actions: readonly string[];
    readonly resources: readonly Input<string>[];
  }[];
}

export interface GhoulsOptions {
  /** Path of ghouls.config.ts from the project's root. */
  readonly config: string;
  /**
   * Folder that `ghouls build --out` has put a build of this configuration into. It is deployed as it is, the same to every
   * stage. Without it each deploy builds.
   */
  readonly built?: string | undefined;
  readonly database: DatabaseOptions;
  readonly vpc?: VpcOptions;
  readonly egress?: EgressOptions;
  readonly concurrency?: {
    /** The account's limit of concurrent executions; 10 by default, which is what a new account has. */
    readonly account?: number;
    /** Reserved executions by function, such as { admission: 5 }. None by default. */
    readonly reserved?: Readonly<Record<string, number>>;
  };
  /** MB of memory by kind of function. */
  readonly memory?: Partial<Record<"http" | "worker" | "reconciler" | "deploy" | "egress", number>>;
  /** Requests a second, and at once, that API Gateway lets through. */
  readonly throttle?: { readonly rate?: number; readonly burst?: number };
  /** Days that logs are kept; 30 by default. */
  readonly logDays?: number;
  readonly alarms?: {
    /** ARN of a topic that is told of every alarm. */
    readonly topic?: Input<string>;
    readonly oldestMessageSeconds?: number;
  };
  /** ARNs of other roles that publish, such as an application that admits inside its own transactions. */
  readonly senders?: readonly Input<string>[];
  /**
   * ARNs of the roles that `ghouls worker` has, by the queues with `worker: "process"`. They are admitted as senders of theirs;
   * what else they need, `ghouls infra` prints.
   */
  readonly workers?: Readonly<Record<string, readonly Input<string>[]>>;
}

export interface GhoulsOutputs {
  /** Address of the HTTP API. */
  readonly api: unknown;
  /** Where events stream: the client's `eventsUrl`. */
  readonly events: unknown;
  /** Name of the events table. */
  readonly table: unknown;
  /** URL by queue. */
  readonly queues: Readonly<Record<string, unknown>>;
  /** Connections in the worst case. */
  readonly connections: number;
}
