import { resolve } from "node:path";
import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, table } from "../printable.ts";

interface BuildCommandOptions extends CommonOptions {
  readonly config: string;
  readonly out: string;
  readonly from?: string;
}

/** `ghouls build`: the functions of a configuration, each as a folder for Lambda. */
export function addBuild(program: Command, context: Context): void {
  const command = withJson(program.command("build"))
    .description("bundle the functions, each as a folder for Lambda")
    .option("--config <file>", "the configuration", "ghouls.config.ts")
    .option("--out <folder>", "where they go; takes the place of an earlier build", ".ghouls/functions")
    .option("--from <folder>", "take this build instead of making one, if it is of the same code");
  const options = () => command.opts<BuildCommandOptions>();
  command.action(act(context, options, () => build(context.io, options())));
}

async function build(io: Io, options: BuildCommandOptions): Promise<number> {
  const deployment = await io.loadDeployment();
  const [config, out] = [resolve(io.cwd, options.config), resolve(io.cwd, options.out)];
  const built =
    options.from === undefined
      ? await deployment.buildFunctions({ config, out })
      : await deployment.takeBuild({ config, out, from: resolve(io.cwd, options.from) });
  if (options.json === true) {
    io.out(`${jsonText(built)}\n`);
    return EXIT.ok;
  }
  const functions = built.functions.map(({ entry, bytes, folder }) => [entry, kilobytes(bytes), folder]);
  const workflows = Object.entries(built.workflows).map(([name, digest]) => [name, digest]);
  io.out(`${table(["FUNCTION", "SIZE", "FOLDER"], functions)}\n${table(["WORKFLOW", "DIGEST"], workflows)}`);
  const releases = built.releases.map(({ name, version, bytes, file }) => [
    `${name}@${version}`,
    kilobytes(bytes),
    file,
  ]);
  io.out(`\n${table(["RELEASE", "SIZE", "FILE"], releases)}\nbuild ${built.build}\n`);
  return EXIT.ok;
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000)} kB`;
}
