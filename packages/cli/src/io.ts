import { randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import type { DatabaseAccess } from "@ghouls/aws";
import type { DigestBasis } from "@ghouls/core";
import type { RunWorkerOptions } from "ghouls";
import type {
  BuildOptions,
  Built,
  DeploymentPlan,
  Difference,
  Published,
  ReleasePlace,
  TakeOptions,
  WorkflowOfBuild,
  pruneReleases,
} from "@ghouls/functions";
import { migrate, migrationSql, openLedger, type DriverName, type Ledger } from "@ghouls/ledger";
import { systemUser } from "./system-user.ts";

/** What the command needs of `@ghouls/local`. */
export interface LocalHost {
  /** Runs everything on this machine until it is told to end; answers with the exit code. */
  runDev(options: {
    readonly config: string;
    readonly dataDir: string;
    /** 0 for any; where undefined, the host chooses. */
    readonly port: number | undefined;
    readonly once: boolean;
    /** Whether what is saved is run. */
    readonly watch: boolean;
    /** Port of the inspector, 0 for any; none where undefined. */
    readonly inspect: number | undefined;
    readonly json: boolean;
  }): Promise<number>;
  /**
   * The database of a data folder whose host does not run, started until it is closed.
   * @throws GhoulsError where a host runs there, or it cannot be started
   */
  openStoppedDatabase(
    dataDir: string,
  ): Promise<{ readonly connectionString: string; close(): Promise<void> }>;
}

/** What a command connects to a database with. */
export interface DatabaseConnection extends DatabaseAccess {
  readonly driver?: DriverName;
  readonly neonProxy?: string;
}

/** What the command needs of `@ghouls/ledger`. */
export interface LedgerTools {
  migrate(options: DatabaseConnection & { schema: string; applicationRole: string }): Promise<{
    readonly applied: readonly { readonly number: number; readonly name: string }[];
  }>;
  migrationSql(options: { schema: string; applicationRole: string }): string;
  openLedger(options: DatabaseConnection & { schema: string; maxConnections: number }): {
    doctor(): Promise<readonly Diagnosis[]>;
    readonly runs: Pick<Ledger["runs"], "repinIfUnclaimed">;
    readonly evidence: Pick<Ledger["evidence"], "verify">;
    readonly integrity: Pick<Ledger["integrity"], "judge" | "acknowledge">;
    readonly releases: Pick<
      Ledger["releases"],
      "all" | "newest" | "record" | "removeUnpinned" | "toDelete" | "markDeleted"
    >;
    close(): Promise<void>;
  };
  openStores(options: DatabaseConnection & { schema: string; maxConnections: number }): Stores;
}

/** What is managed in the ledger itself. */
export interface Stores {
  readonly keys: Pick<Ledger["keys"], "create" | "page" | "revoke">;
  readonly grants: Pick<Ledger["grants"], "create" | "page" | "revoke">;
  readonly pauses: Pick<Ledger["pauses"], "set" | "lift" | "find" | "all">;
  readonly deliveries: Pick<Ledger["deliveries"], "sayWorkerEnded">;
  close(): Promise<void>;
}

/** What the command needs of `@ghouls/functions`. */
export interface DeploymentTools {
  buildFunctions(options: BuildOptions): Promise<Built>;
  takeBuild(options: TakeOptions): Promise<Built>;
  workflowsOf(config: string): Promise<readonly WorkflowOfBuild[]>;
  basesOf(config: string): Promise<readonly DigestBasis[]>;
  basesOfBuild(from: string): Promise<readonly DigestBasis[]>;
  differencesOf(before: DigestBasis, after: DigestBasis): readonly Difference[];
  publishBuild(from: string, to: ReleasePlace): Promise<Published>;
  pruneReleases(unusedMs: number, from: ReleasePlace): ReturnType<typeof pruneReleases>;
  planOf(config: string, options: object): Promise<DeploymentPlan>;
}

/** One invariant of the ledger, with the rows that break it. */
export interface Diagnosis {
  readonly check: string;
  readonly ok: boolean;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The world around the command, so that tests can stand in for it. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths start from. */
  readonly cwd: string;
  out(text: string): void;
  err(text: string): void;
  readStdin(): Promise<string>;
  /** Rejects with ERR_MODULE_NOT_FOUND where the package is not installed. */
  loadLocal(): Promise<LocalHost>;
  readonly ledger: LedgerTools;
  /** Who is logged in on this system. */
  user(): string;
  /** From a generator made for secrets. */
  randomBytes(count: number): Uint8Array;
  /** Loaded when it is needed: it brings all of Ghouls along. */
  loadWorker(): Promise<{ runWorker(options: RunWorkerOptions): Promise<number> }>;
  /** Loaded when it is needed: it brings the bundler along. */
  loadDeployment(): Promise<DeploymentTools>;
  /** Asks the person at the terminal; undefined where nobody sits there. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

const OF_THE_COMMAND = { chance: Math.random, applicationName: "ghouls-cli" } as const;

/** On stderr: what a command answers may go elsewhere. */
async function askHere(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** The world of this process. */
export function processIo(): Io {
  return {
    env: process.env,
    cwd: process.cwd(),
    out: (line) => void process.stdout.write(line),
    err: (line) => void process.stderr.write(line),
    readStdin: () => text(process.stdin),
    loadLocal: () => import("@ghouls/local"),
    loadWorker: () => import("ghouls"),
    loadDeployment: () => import("@ghouls/functions"),
    ledger: {
      migrate,
      migrationSql,
      openLedger: (options) => openLedger({ ...options, ...OF_THE_COMMAND }),
      openStores: (options) => openLedger({ ...options, ...OF_THE_COMMAND }),
    },
    user: () => systemUser(),
    randomBytes,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askHere : undefined,
  };
}
