import { inject } from "vitest";
import type { DriverName } from "@ghouls/ledger";

/** How the ledger reaches PostgreSQL in one project of the tests: test/vitest.config.ts lists them. */
export type Way = "postgres18" | "postgres15" | "pgbouncer" | "neon";

export interface TestServer {
  readonly host: string;
  readonly port: number;
  /** Of the superuser. */
  readonly adminPassword: string;
  /** Where the application's role connects: a pooler, or the server itself. */
  readonly application?: { readonly host: string; readonly port: number };
  readonly driver?: DriverName;
  readonly neonProxy?: string;
  /** As a user of a pooler that keeps no names sets it; the driver's default where absent. */
  readonly preparedStatements?: boolean;
}

declare module "vitest" {
  export interface ProvidedContext {
    postgres: TestServer;
    way: Way;
    /** The file of the worker that crash tests start; with PostgreSQL 18 only. */
    workerProcess: string;
  }
}

/** The reason why a test cannot hold here, which is told where it is skipped: `test.skipIf(cannotHold({ … }))`. */
export function cannotHold(reasons: Readonly<Partial<Record<Way, string>>>): boolean {
  return Object.hasOwn(reasons, inject("way"));
}
