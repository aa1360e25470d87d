import { type wire } from "@ghouls/core";
import type { GhoulsClient } from "@ghouls/client";
import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
import { labels } from "../labels.ts";
import { jsonText, printable } from "../printable.ts";
import { statuses, type Status } from "../statuses.ts";

interface CancelOptions extends CommonOptions, ConnectionOptions {
  readonly reason: string;
  readonly status?: readonly Status[];
  readonly workflow?: string;
  readonly admittedAfter?: string;
  readonly admittedBefore?: string;
  readonly parent?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly attention?: boolean;
  readonly dryRun?: boolean;
}

/** `ghouls cancel`: asks a run, or all that a filter means, to end. */
export function addCancel(program: Command, context: Context): void {
  const command = withApi(program.command("cancel"))
    .description(
      "cancel a run, or all that a filter means: CANCELLED once nothing of it can still act; exit code 1 where the run was decided before",
    )
    .argument("[id]", "run id; without it, at least one filter")
    .requiredOption("--reason <text>", "why; it is kept with the run")
    .option("--workflow <name>", "runs of this workflow")
    .option(
      "--status <list>",
      "runs of these, with commas; repeatable; those that have ended are left",
      statuses,
    )
    .option("--admitted-after <time>", "runs admitted then or later, ISO 8601 in UTC")
    .option("--admitted-before <time>", "runs admitted before, ISO 8601 in UTC")
    .option("--parent <id>", "runs that this one has started")
    .option("--label <key=value>", "runs with this label; repeatable: with all of them", labels)
    .option("--attention", "runs that ask for a person")
    .option("--dry-run", "only list what would be cancelled");
  const options = () => command.opts<CancelOptions>();
  command.action(
    act(context, options, async (id: string | undefined) => {
      const filter = filterOf(options());
      if (id !== undefined && (Object.keys(filter).length > 0 || options().dryRun === true))
        throw usageError(
          "cancel takes a run id, or a filter, which --dry-run is for",
          "Leave one of them out.",
        );
      if (id === undefined && Object.keys(filter).length === 0)
        throw usageError("cancel needs a run id, or a filter", "See `ghouls cancel --help` for its filters.");
      const client = await connect(context.io, options(), "operator");
      return id === undefined
        ? cancelMatching(context.io, client, filter, options())
        : cancelOne(context.io, client, id, options());
    }),
  );
}

function filterOf(options: CancelOptions): wire.CancelFilter {
  const { status, workflow, admittedAfter, admittedBefore, parent, label, attention } = options;
  return {
    ...(status === undefined ? {} : { status: status as NonNullable<wire.CancelFilter["status"]> }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(admittedAfter === undefined ? {} : { admittedAfter }),
    ...(admittedBefore === undefined ? {} : { admittedBefore }),
    ...(parent === undefined ? {} : { parentRunId: parent }),
    ...(label === undefined ? {} : { labels: label }),
    ...(attention === true ? { attention } : {}),
  };
}

async function cancelOne(io: Io, client: GhoulsClient, id: string, options: CancelOptions): Promise<number> {
  const answer = await client.cancel(id, options.reason);
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else io.out(answer.cancelled ? `${answer.status}\n` : `decided before: ${answer.status}\n`);
  return answer.cancelled ? EXIT.ok : EXIT.failed;
}

/** Goes on from page to page until none is left. */
async function cancelMatching(
  io: Io,
  client: GhoulsClient,
  filter: wire.CancelFilter,
  { reason, dryRun = false, json }: CancelOptions,
): Promise<number> {
  const total = { cancelled: 0, ending: 0, ended: 0 };
  let cursor: string | null = null;
  do {
    const request = { filter, reason, dryRun, ...(cursor === null ? {} : { cursor }) };
    const page: wire.CancelledMatching = await client.cancelMatching(request);
    total.cancelled += page.cancelled;
    total.ending += page.ending;
    total.ended += page.ended;
    if (json === true) io.out(`${jsonText(page)}\n`);
    else for (const run of page.runs) io.out(lineOf(run, dryRun));
    cursor = page.nextCursor;
  } while (cursor !== null);
  const { cancelled, ending, ended } = total;
  const verb = dryRun ? "would be cancelled" : "cancelled";
  io.err(`${cancelled} ${verb}, ${ending} ending already, ${ended} had ended\n`);
  return EXIT.ok;
}

function lineOf(
  { outcome, status, workflow, runId }: wire.CancelledMatching["runs"][number],
  dryRun: boolean,
): string {
  const what = dryRun && outcome === "cancelled" ? "would cancel" : outcome;
  return `${what.padEnd(14)}${status.padEnd(19)}${printable(workflow)}  ${runId}\n`;
}
