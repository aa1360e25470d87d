export const DRIVERS = ["pg", "neon"] as const;
export type DriverName = (typeof DRIVERS)[number];

/** The answer to one statement. */
export interface Answer {
  readonly rows: Record<string, unknown>[];
  /** The command's tag, such as COMMIT or ROLLBACK. */
  readonly command: string;
  /** Null where the command counts none. */
  readonly rowCount: number | null;
}

export interface Question {
  readonly text: string;
  readonly values?: unknown[];
  /** Of the prepared statement; unnamed where absent. */
  readonly name?: string;
  /** The protocol that takes one statement at a time, also where there are no values. */
  readonly queryMode?: "extended";
}

/** A connection that is checked out. */
interface Connection {
  query(question: Question | string): Promise<Answer>;
  /** `true` throws the connection away. */
  release(broken: boolean): void;
}

export interface ConnectionPool {
  connect(): Promise<Connection>;
  /** Resolves when every connection has come back and is closed. */
  end(): Promise<void>;
}

/**
 * What both drivers take, in node-postgres's words: the members of a parsed connection string, and these. Its types are
 * not named, since who installs this package has not got them.
 */
interface PoolSettings {
  readonly application_name?: string | undefined;
  readonly query_timeout?: number | undefined;
  readonly max: number;
  readonly connectionTimeoutMillis: number;
  readonly idleTimeoutMillis: number;
  readonly allowExitOnIdle: boolean;
}

export type OpenPool = (settings: PoolSettings) => ConnectionPool;

/** What a pool of either driver emits. */
interface Emitter {
  on(
    event: "connect" | "error",
    listener: (client: { on(event: "error", listener: () => void): unknown }) => void,
  ): unknown;
}

/** Without these a backend that is killed while its connection idles, or is checked out, would end this process. */
export function surviveLostConnections(pool: Emitter): void {
  pool.on("connect", (client) => {
    client.on("error", () => undefined);
  });
  pool.on("error", () => undefined);
}
