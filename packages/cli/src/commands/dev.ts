import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { act, wholeNumber, withJson, type CommonOptions, type Context } from "../command.ts";
import { isNoFile } from "../dev-file.ts";
import { CommandError } from "../failure.ts";
import type { Io } from "../io.ts";
import { loadLocalHost } from "../local-host.ts";
import { addStranded } from "./stranded.ts";

interface DevOptions extends CommonOptions {
  readonly config: string;
  readonly dataDir: string;
  readonly port?: number;
  readonly once?: boolean;
  readonly watch: boolean;
  readonly inspect?: number | true;
}

/** Where debuggers look. */
const INSPECTOR_PORT = 9229;

/** `ghouls dev`: everything on this machine, by `@ghouls/local`. */
export function addDev(program: Command, context: Context): void {
  const command = withJson(program.command("dev"))
    .description("run PostgreSQL, SQS, the API and the workers on this machine")
    .option("--config <file>", "the configuration", "ghouls.config.ts")
    .option("--data-dir <folder>", "where the state lives", ".ghouls")
    .option("--port <number>", "port of the API, 0 for any", wholeNumber(0, 65_535))
    .option("--once", "carry the example runs to their end, then exit")
    .option("--no-watch", "do not run what is saved")
    .option(
      "--inspect [port]",
      "one worker with an inspector, which may stand at a breakpoint",
      wholeNumber(0, 65_535),
    );
  addStranded(command, context);
  const options = () => command.opts<DevOptions>();
  command.action(act(context, options, () => dev(context.io, options())));
}

async function dev(io: Io, options: DevOptions): Promise<number> {
  const config = resolve(io.cwd, options.config);
  await access(config).catch((error: unknown) => {
    if (!isNoFile(error)) throw error;
    throw new CommandError(
      `there is no ${config}`,
      "Run `ghouls init` to write one, or name yours with --config.",
    );
  });
  const local = await loadLocalHost(io);
  // What the host prints on stdout ends with a line for programs, so nothing is added here.
  return local.runDev({
    config,
    dataDir: resolve(io.cwd, options.dataDir),
    port: options.port,
    once: options.once === true,
    watch: options.watch,
    inspect: options.inspect === true ? INSPECTOR_PORT : options.inspect,
    json: options.json === true,
  });
}
