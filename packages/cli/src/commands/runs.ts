import type { wire } from "@ghouls/core";
import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { labels } from "../labels.ts";
import { pageOf, tellMore, withPage, type PageOptions } from "../paging.ts";
import { heldBy } from "../pause-target.ts";
import { jsonText, table } from "../printable.ts";
import { statuses, type Status } from "../statuses.ts";

interface RunsOptions extends CommonOptions, ConnectionOptions, PageOptions {
  readonly status?: readonly Status[];
  readonly workflow?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly parent?: string;
  readonly admittedAfter?: string;
  readonly admittedBefore?: string;
  readonly attention?: boolean;
}

/** `ghouls runs`: one page of runs, newest first. */
export function addRuns(program: Command, context: Context): void {
  const command = withPage(withApi(program.command("runs")))
    .description("list runs, newest first")
    .option("--status <list>", "only these, with commas; repeatable", statuses)
    .option("--workflow <name>", "only this workflow")
    .option("--label <key=value>", "only those with this label; repeatable: with all of them", labels)
    .option("--parent <run id>", "only its children")
    .option("--admitted-after <time>", "only runs admitted then or later, ISO 8601 in UTC")
    .option("--admitted-before <time>", "only runs admitted before, ISO 8601 in UTC")
    .option("--attention", "only those that ask for a person");
  const options = () => command.opts<RunsOptions>();
  command.action(act(context, options, () => runs(context.io, options())));
}

async function runs(io: Io, options: RunsOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const page = await client.listRuns({
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.workflow === undefined ? {} : { workflow: options.workflow }),
    ...(options.label === undefined ? {} : { labels: options.label }),
    ...(options.parent === undefined ? {} : { parentRunId: options.parent }),
    ...(options.admittedAfter === undefined ? {} : { admittedAfter: options.admittedAfter }),
    ...(options.admittedBefore === undefined ? {} : { admittedBefore: options.admittedBefore }),
    ...(options.attention === true ? { attention: true } : {}),
    ...pageOf(options),
  });
  if (options.json === true) {
    io.out(`${jsonText(page)}\n`);
    return EXIT.ok;
  }
  const anyPaused = page.runs.some(({ pauses }) => pauses.length > 0);
  const rows = page.runs.map((run) => [
    statusOf(run),
    `${run.workflow.name}@${run.workflow.version}`,
    run.runId,
    run.createdAt,
    String(run.steps),
    ...(anyPaused ? [run.pauses.map(heldBy).join("; ")] : []),
  ]);
  const heading = ["STATUS", "WORKFLOW", "ID", "CREATED", "STEPS"];
  io.out(table(anyPaused ? [...heading, "PAUSED"] : heading, rows));
  tellMore(io, page);
  return EXIT.ok;
}

/** With a sign where it asks for a person, and what takes its work up again. */
function statusOf({ status, attention, quarantine, redrivenAs }: wire.RunSummary): string {
  const asks = attention === null && quarantine === null ? "" : " !";
  return `${status}${asks}${redrivenAs === null ? "" : ", redriven"}`;
}
