import { resolve } from "node:path";
import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, table } from "../printable.ts";
import { addDiff } from "./workflow-diff.ts";
import { addReleases } from "./releases.ts";

interface WorkflowsOptions extends CommonOptions {
  readonly config: string;
}

/** `ghouls workflows`: the digests that runs of these sources are pinned to. */
export function addWorkflows(program: Command, context: Context): void {
  const command = withJson(program.command("workflows"))
    .enablePositionalOptions()
    .description("the workflows of a configuration, with the digests that their runs are pinned to")
    .option("--config <file>", "the configuration", "ghouls.config.ts");
  const options = () => command.opts<WorkflowsOptions>();
  command.action(act(context, options, () => list(context.io, options())));
  addDiff(command, context);
  addReleases(command, context);
}

async function list(io: Io, options: WorkflowsOptions): Promise<number> {
  const deployment = await io.loadDeployment();
  const workflows = await deployment.workflowsOf(resolve(io.cwd, options.config));
  if (options.json === true) {
    io.out(`${jsonText({ workflows })}\n`);
    return EXIT.ok;
  }
  const rows = workflows.map(({ name, version, digest, accepts }) => [
    name,
    String(version),
    digest,
    accepts.length === 0 ? "-" : accepts.join(", "),
  ]);
  io.out(table(["WORKFLOW", "VERSION", "DIGEST", "ACCEPTS"], rows));
  return EXIT.ok;
}
