import { Option, type Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { readDevFile } from "../dev-file.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../printable.ts";

const ROLES = ["operator", "submitter", "decider"] as const;

interface ConsoleOptions extends CommonOptions {
  readonly as: (typeof ROLES)[number];
  readonly dataDir: string;
}

/** `ghouls console`: a link that opens the console of the running `ghouls dev` and signs in. */
export function addConsole(program: Command, context: Context): void {
  const command = withJson(program.command("console"))
    .description(
      "print a link to the console of the running `ghouls dev` that signs you in; it holds a token",
    )
    .addOption(new Option("--as <role>", "whose token the link holds").choices(ROLES).default("operator"))
    .option("--data-dir <folder>", "data folder of `ghouls dev`", ".ghouls");
  const options = () => command.opts<ConsoleOptions>();
  command.action(act(context, options, () => show(context.io, options())));
}

async function show(io: Io, { as, dataDir, json }: ConsoleOptions): Promise<number> {
  const dev = await readDevFile(io, dataDir);
  if (dev === undefined) {
    throw new CommandError(
      `no \`ghouls dev\` runs here: ${dataDir} has no dev.json`,
      "Start `ghouls dev` in this folder, or name its data folder with --data-dir. A deployment prints its console's address.",
    );
  }
  if (dev.consoleUrl === undefined) {
    throw new CommandError(
      "this `ghouls dev` serves no console: it was not built",
      "In the repository run `npm run build:console`, then start again.",
    );
  }
  const token = dev.tokens[as];
  if (token === undefined) {
    throw new CommandError(`dev.json has no token of the ${as}`, "Name another with --as.");
  }
  // A fragment is never sent to a server, and the page takes it out of the address at once.
  const url = `${dev.consoleUrl}/#${new URLSearchParams({ token }).toString()}`;
  io.out(json === true ? `${jsonText({ url })}\n` : `${url}\n`);
  return EXIT.ok;
}
