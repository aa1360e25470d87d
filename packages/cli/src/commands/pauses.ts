import type { Command } from "commander";
import { act, type Context } from "../command.ts";
import { connect } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { inDatabase, withApiOrDatabase, type PausesOptions } from "../pause-target.ts";
import { jsonText, table } from "../printable.ts";

/** `ghouls pauses`: what is paused beside single runs. */
export function addPauses(program: Command, context: Context): void {
  const command = withApiOrDatabase(program.command("pauses")).description(
    "list the pauses of workflows, tenants and everything that are set, the longest first",
  );
  const options = () => command.opts<PausesOptions>();
  command.action(act(context, options, () => pauses(context.io, options())));
}

/** Rows of a list straight from a database. */
const MOST = 1_000;

async function pauses(io: Io, options: PausesOptions): Promise<number> {
  const found =
    options.databaseUrl === undefined
      ? (await (await connect(io, options, "operator")).listPauses()).pauses
      : (await inDatabase(io, options, (stores) => stores.pauses.all(MOST))).map((pause) => ({
          ...pause,
          at: pause.at.toISOString(),
        }));
  if (options.json === true) {
    io.out(`${jsonText({ pauses: found })}\n`);
    return EXIT.ok;
  }
  const rows = found.map(({ scope, tenantId, workflow, at, by, reason }) => [
    scope,
    tenantId ?? "every",
    workflow ?? "every",
    at,
    by,
    reason,
  ]);
  io.out(table(["PAUSED", "TENANT", "WORKFLOW", "SINCE", "BY", "REASON"], rows));
  return EXIT.ok;
}
