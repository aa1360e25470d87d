import { Command, CommanderError } from "commander";
import { readFile } from "node:fs/promises";
import type { Context } from "./command.ts";
import { addAttempts } from "./commands/attempts.ts";
import { addBuild } from "./commands/build.ts";
import { addCancel } from "./commands/cancel.ts";
import { addClear } from "./commands/clear.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConsents } from "./commands/consents.ts";
import { addConsole } from "./commands/console.ts";
import { addDecide } from "./commands/decide.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addGrants } from "./commands/grants.ts";
import { addInfra } from "./commands/infra.ts";
import { addInit } from "./commands/init.ts";
import { addKeys } from "./commands/keys.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addPause, addUnpause } from "./commands/pause.ts";
import { addPauses } from "./commands/pauses.ts";
import { addReconcile } from "./commands/reconcile.ts";
import { addRedrive } from "./commands/redrive.ts";
import { addRelease } from "./commands/release.ts";
import { addResolve } from "./commands/resolve.ts";
import { addRuns } from "./commands/runs.ts";
import { addShow } from "./commands/show.ts";
import { addSignal } from "./commands/signal.ts";
import { addSubmit } from "./commands/submit.ts";
import { addWatch } from "./commands/watch.ts";
import { addWorker } from "./commands/worker.ts";
import { addWorkflows } from "./commands/workflows.ts";
import { EXIT } from "./failure.ts";
import { processIo, type Io } from "./io.ts";

const COMMANDS = [
  addInit,
  addDev,
  addConsole,
  addWorker,
  addBuild,
  addWorkflows,
  addInfra,
  addMigrate,
  addKeys,
  addGrants,
  addSubmit,
  addRuns,
  addShow,
  addWatch,
  addRelease,
  addConsents,
  addDecide,
  addAttempts,
  addSignal,
  addCancel,
  addPause,
  addUnpause,
  addPauses,
  addRedrive,
  addClear,
  addResolve,
  addReconcile,
  addDoctor,
  addCompletion,
];

/**
 * The command `ghouls`. Never ends the process; whatever a command throws is told on stderr.
 * @param argv the arguments after the program's name
 * @returns the exit code: 0 done, 1 failed or refused, 2 called wrongly
 */
export async function run(argv: readonly string[], io: Io = processIo()): Promise<number> {
  let exitCode: number = EXIT.ok;
  const context: Context = {
    io,
    exit: (code) => {
      exitCode = code;
    },
  };
  const program = new Command("ghouls")
    .description("Durable runs over the PostgreSQL that you already have.")
    .version(await version())
    .exitOverride()
    // What stands behind a command's name is the command's: one that has commands of its own may share options with them.
    .enablePositionalOptions()
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) })
    .addHelpText("after", "\nExit codes: 0 done, 1 failed or refused, 2 called wrongly.");
  for (const add of COMMANDS) {
    add(program, context);
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return exitCode;
}

/** The package.json stands one folder above, in the sources as where it is published. */
async function version(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
