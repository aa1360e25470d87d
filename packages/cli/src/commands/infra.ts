import { resolve } from "node:path";
import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { EXIT, usageError } from "../failure.ts";
import type { DeploymentTools, Io } from "../io.ts";
import { jsonText, table } from "../printable.ts";

interface InfraOptions extends CommonOptions {
  readonly config: string;
  readonly options: string;
}

type Plan = Awaited<ReturnType<DeploymentTools["planOf"]>>;

/** `ghouls infra`: what a deployment consists of, for those who do not use SST. */
export function addInfra(program: Command, context: Context): void {
  const command = withJson(program.command("infra"))
    .description("print what a deployment consists of: resources, environment, settings and IAM statements")
    .option("--config <file>", "the configuration", "ghouls.config.ts")
    .option(
      "--options <json>",
      'what the deployment decides, such as {"database":{"driver":"neon"},"vpc":{},"concurrency":{"account":100}}',
      "{}",
    )
    .addHelpText("after", "\n${…} stands for what is known only when its resource exists.");
  const options = () => command.opts<InfraOptions>();
  command.action(act(context, options, () => infra(context.io, options())));
}

async function infra(io: Io, options: InfraOptions): Promise<number> {
  const given = parsed(options.options);
  const deployment = await io.loadDeployment();
  const plan = await deployment.planOf(resolve(io.cwd, options.config), given);
  io.out(options.json === true ? `${jsonText(plan, 2)}\n` : readable(plan));
  return EXIT.ok;
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below, in one sentence for both.
  }
  throw usageError("--options is no JSON object", `Give one, such as --options '{"vpc":{}}'.`);
}

/** What the role of a worker needs that is no function, and what it finds in its environment. */
function processesOf({ processes }: Plan): string {
  return processes
    .map(({ queue, environment, statements }) =>
      [
        `ghouls worker --queue ${queue}`,
        ...Object.entries(environment).map(([name, value]) => `  ${name}=${value}`),
        ...statements.map(
          ({ sid, actions, resources }) => `  may ${sid}: ${actions.join(" ")} on ${resources.join(" ")}`,
        ),
        "",
      ].join("\n"),
    )
    .join("\n");
}

function readable(plan: Plan): string {
  const functions = plan.functions.map((one) => [
    one.id,
    `${one.timeoutSeconds} s`,
    `${one.memoryMb} MB`,
    String(one.executions ?? "any"),
    one.statements.map(({ sid }) => sid).join(" "),
  ]);
  const queues = plan.queues.map((one) => [
    one.name,
    `${one.visibilitySeconds} s`,
    one.mapping === null ? "" : String(one.mapping.batchSize),
    one.mapping === null ? "" : String(one.mapping.maximumConcurrency),
    one.mapping === null ? "none: ghouls worker" : one.mapping.function,
  ]);
  const { worst, limit, environments, perEnvironment } = plan.connections;
  return [
    table(["FUNCTION", "TIMEOUT", "MEMORY", "AT ONCE", "MAY"], functions),
    table(["QUEUE", "VISIBILITY", "BATCH", "CONCURRENCY", "FUNCTION"], queues),
    ...(plan.processes.length === 0 ? [] : [processesOf(plan)]),
    `${Object.keys(plan.http.routes).length} routes, ${plan.alarms.length} alarms, a table, a schedule (${plan.schedule.expression})\n`,
    `connections: ${worst} of ${limit} in the worst case (${environments} environments with ${perEnvironment} each, twice during a deploy)\n`,
    "All of it, with environment and IAM statements: ghouls infra --json\n",
  ].join("\n");
}
