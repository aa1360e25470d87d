import { digestManifest } from "ghouls";
import { isTerminalRun, type RunStatus } from "@ghouls/core";
import { MARGIN_SECONDS, crashWorld, type CrashWorld } from "./crash-world.ts";
import { WORKFLOWS } from "./crash-workflows.ts";
import { testDatabase } from "./database.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { until } from "./wait.ts";
import { workerCommand, type WorkerCommand, type WorkerCommandOptions } from "./worker-command.ts";

/** A world whose workers are those of `ghouls worker`. */
export interface WorkerWorld extends CrashWorld {
  /** The command on this world. */
  command(options?: Partial<WorkerCommandOptions>): WorkerCommand;
  /** A folder for --state-dir. */
  readonly stateDir: string;
  many(workflow: string, count: number, input?: unknown): Promise<readonly string[]>;
  /** Reconciles until these runs have ended. Time moves only while nobody carries a run, so that it costs no claim its lease. */
  end(runIds: readonly string[]): Promise<void>;
  statusesOf(runIds: readonly string[]): Promise<readonly RunStatus[]>;
  /** How many deliveries of these runs were lost. */
  lossesOf(runIds: readonly string[]): Promise<number>;
}

export async function workerWorld(): Promise<WorkerWorld> {
  const manifest = await digestManifest({ workflows: WORKFLOWS });
  const db = await testDatabase();
  const world = await crashWorld({
    db,
    digestOf: ({ name, version }) => manifest[`${name}@${version}`] ?? "",
  });
  const stateDir = mkdtempSync(join(tmpdir(), "ghouls-workers-"));
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));
  const statusesOf: WorkerWorld["statusesOf"] = async (runIds) => {
    const rows = await db.admin<{ status: RunStatus }>(
      "select status from ghouls.runs where run_id = any($1::uuid[])",
      [runIds],
    );
    return rows.map(({ status }) => status);
  };
  return {
    ...world,
    stateDir,
    statusesOf,
    command: (options = {}) =>
      workerCommand({ databaseUrl: db.applicationUrl, sqs: world.sqs, stubUrl: world.stub.url, ...options }),
    many: async (workflow, count, input = null) => {
      const runIds: string[] = [];
      for (let at = 0; at < count; at += 20) {
        const some = Array.from({ length: Math.min(20, count - at) }, () => world.submit(workflow, input));
        runIds.push(...(await Promise.all(some)).map(({ runId }) => runId));
      }
      return runIds;
    },
    end: (runIds) => {
      let idle = 0;
      return until(`${runIds.length} runs have ended`, async () => {
        await world.reconcile();
        const found = await statusesOf(runIds);
        if (found.every((status) => isTerminalRun(status))) return true;
        const carried = await db.admin("select from ghouls.deliveries where status = 'CLAIMED' limit 1");
        idle = carried.length === 0 ? idle + 1 : 0;
        if (idle >= 10) {
          idle = 0;
          await world.advance(MARGIN_SECONDS + 1);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
        return false;
      }).then(() => undefined);
    },
    lossesOf: async (runIds) => {
      const [row] = await db.admin<{ n: number }>(
        "select count(*)::integer as n from ghouls.deliveries where run_id = any($1::uuid[]) and outcome = 'lost'",
        [runIds],
      );
      return row?.n ?? 0;
    },
  };
}
