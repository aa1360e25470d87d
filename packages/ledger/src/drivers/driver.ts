import type { ClientConfig, PoolConfig } from "pg";

export const DRIVERS = ["pg", "neon"] as const;
export type DriverName = (typeof DRIVERS)[number];

/** The answer to one statement. */
export interface Answer {
  readonly rows: Record<string, unknown>[];
  /** The command's tag, such as COMMIT or ROLLBACK. */
  readonly command: string;
}

export interface Question {
  readonly text: string;
  readonly values?: unknown[];
  /** Of the prepared statement; unnamed where absent. */
  readonly name?: string;
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

/** What both drivers take: node-postgres's settings, with the parsed connection string among them. */
type PoolSettings = ClientConfig &
  Pick<PoolConfig, "max" | "connectionTimeoutMillis" | "idleTimeoutMillis" | "allowExitOnIdle">;

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
