import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { GhoulsError, describeFailure } from "@ghouls/core";
import type { HostLog } from "./log.ts";
import { startPostgres, type Postgres } from "./postgres.ts";
import { checkReachableByPostgres } from "./reachable.ts";
import { random } from "./secrets.ts";

/** Lines of the server's that are told where it does not start. */
const KEPT_LINES = 20;

export interface ThrowawayOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Where its folder is made: in memory where the machine has that, else among the temporary files. */
  readonly parent?: string;
}

/**
 * A PostgreSQL for tests, in a new folder that goes with it, also where this process is killed. Nothing is flushed to a
 * disk: it is fast, and what is committed does not outlive the machine.
 * @throws GhoulsError where it cannot start, with its last lines
 */
export async function startThrowawayPostgres(options: ThrowawayOptions = {}): Promise<Postgres> {
  const parent = options.parent ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
  const dataDir = await mkdtemp(join(parent, "ghouls-throwaway-"));
  const log = lastLines();
  try {
    // As root the server runs as another user, who has to get to its data.
    await chmod(dataDir, 0o755);
    if (process.getuid?.() === 0) await checkReachableByPostgres(dataDir);
    const postgres = await startPostgres({
      dataDir,
      password: random(),
      env: options.env ?? process.env,
      log,
      throwAway: true,
    });
    const remove = () => rm(dataDir, { recursive: true, force: true });
    return { ...postgres, stop: () => postgres.stop().then(remove) };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    if (log.lines.length === 0) throw error;
    throw new GhoulsError("internal", describeFailure(error).message, {
      fix: `It said last: ${log.lines.join(" / ")}`,
      cause: error,
    });
  }
}

function lastLines(): HostLog & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  const line = (_source: string, text: string): void => {
    lines.push(text.slice(0, 300));
    if (lines.length > KEPT_LINES) lines.shift();
  };
  return {
    lines,
    line,
    follow: (source, stream) => {
      createInterface({ input: stream }).on("line", (text) => line(source, text));
    },
    close: () => Promise.resolve(),
  };
}
