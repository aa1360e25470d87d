import { createClient, type GhoulsClient } from "@ghouls/client";
import { isTerminalRun } from "@ghouls/core";
import type { RepinAnswer } from "@ghouls/ledger";
import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { namedDatabase } from "../database.ts";
import { readDevFile } from "../dev-file.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { DatabaseConnection, Io } from "../io.ts";
import { jsonText } from "../printable.ts";

interface StrandedOptions extends CommonOptions {
  readonly dataDir: string;
  readonly reason: string;
}

/** A command beside a `ghouls dev` that runs. */
interface Beside {
  readonly io: Io;
  readonly client: GhoulsClient;
  readonly dev: NonNullable<Awaited<ReturnType<typeof readDevFile>>>;
  readonly options: StrandedOptions;
}

type Carry = (beside: Beside, id: string) => Promise<number>;

/** `ghouls dev replay`, `restart` and `discard`: what becomes of a run whose code has changed. */
export function addStranded(dev: Command, context: Context): void {
  dev.enablePositionalOptions();
  add(
    dev,
    context,
    "replay",
    "let the code of now carry on a run of other code; its journal is checked",
    replay,
  );
  add(dev, context, "restart", "ask anew for what a run was asked for, and cancel it", restart);
  add(dev, context, "discard", "cancel a run", discard);
}

function add(dev: Command, context: Context, name: string, description: string, carry: Carry): void {
  const command = withJson(dev.command(name))
    .description(description)
    .argument("<run>", "run id")
    .option("--data-dir <folder>", "data folder of the running `ghouls dev`", ".ghouls")
    .option("--reason <text>", "why; it is kept with the run", "its code has changed");
  const options = () => command.opts<StrandedOptions>();
  command.action(
    act(context, options, async (id: string) => carry(await besideDev(context.io, options()), id)),
  );
}

/** Only the file of a running `ghouls dev` says where: no variable leads these to another ledger. */
async function besideDev(io: Io, options: StrandedOptions): Promise<Beside> {
  const dev = await readDevFile(io, options.dataDir);
  const token = dev?.tokens.operator;
  if (dev === undefined || token === undefined) {
    throw new CommandError(
      `no \`ghouls dev\` runs in ${options.dataDir}`,
      "Start it, or name its folder with --data-dir. Elsewhere there are `ghouls submit` and `ghouls cancel`.",
    );
  }
  return { io, client: createClient({ baseUrl: dev.apiUrl, token }), dev, options };
}

async function replay(beside: Beside, id: string): Promise<number> {
  const { io, client, options } = beside;
  const { runId, workflow } = await client.getRun(id);
  const { name, version, digest: from } = workflow;
  const to = digestOfNow(beside, name, version);
  if (to === undefined) {
    throw new CommandError(
      `the code of now has no workflow "${name}" version ${version}`,
      `Put that version back, or take \`ghouls dev restart\` or \`discard\`.`,
    );
  }
  const { databaseSchema: schema } = beside.dev;
  const ledger = io.ledger.openLedger({ ...ownerOf(beside), schema, maxConnections: 1 });
  try {
    const key = { tenantId: DEV_TENANT, runId };
    const word = { actor: "ghouls dev replay", reason: options.reason };
    const answer = await ledger.runs.repinIfUnclaimed(key, { from, to }, word);
    if (answer === null) {
      throw new CommandError(
        "that database has no such run",
        "Set GHOULS_MIGRATION_DATABASE_URL to the database of this `ghouls dev`.",
      );
    }
    if (answer.digest !== to) throw refusedReplay({ runId, ...answer });
    if (options.json === true) io.out(`${jsonText({ runId, ...answer })}\n`);
    else io.out(answer.repinned ? `pinned to ${to}\n` : `pinned to ${to} before\n`);
    return EXIT.ok;
  } finally {
    await ledger.close();
  }
}

function refusedReplay({
  runId,
  status,
  quarantined,
}: RepinAnswer & { readonly runId: string }): CommandError {
  if (quarantined)
    return new CommandError("the run is quarantined", `\`ghouls clear ${runId}\` ends that, with a reason.`);
  return new CommandError(
    `the run is ${status}`,
    "Only a run that is queued or parked can change its code: one that a worker has comes to its park or end first.",
  );
}

async function restart({ io, client, options, ...beside }: Beside, id: string): Promise<number> {
  const run = await client.getRun(id);
  if (isTerminalRun(run.status)) {
    throw new CommandError(
      `the run is ${run.status}: nothing of it is to be cancelled`,
      "`ghouls submit` asks for another one.",
    );
  }
  const { name, version } = run.workflow;
  const known = digestOfNow(beside, name, version) !== undefined;
  const { queue, priority, agent, input } = run;
  const admitted = await client.submit(
    {
      workflow: name,
      ...(known ? { version } : {}),
      input,
      queue,
      priority,
      ...(agent === null ? {} : { agent }),
    },
    // Once more after a failure it is the same run.
    { idempotencyKey: `restart-${run.runId}` },
  );
  const cancelled = await client.cancel(id, `${options.reason}; asked for anew as ${admitted.runId}`);
  if (options.json === true) io.out(`${jsonText({ admitted, cancelled })}\n`);
  else {
    io.err(`${run.runId} is ${cancelled.status}\n`);
    io.out(`${admitted.runId}\n`);
  }
  return EXIT.ok;
}

async function discard({ io, client, options }: Beside, id: string): Promise<number> {
  const answer = await client.cancel(id, options.reason);
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else io.out(answer.cancelled ? `${answer.status}\n` : `decided before: ${answer.status}\n`);
  return answer.cancelled ? EXIT.ok : EXIT.failed;
}

/** Whose the keys of `ghouls dev` are. */
const DEV_TENANT = "default";

function digestOfNow({ dev }: Pick<Beside, "dev">, name: string, version: number): string | undefined {
  return dev.code?.workflows[`${name}@${version}`];
}

/** The role that owns the schema: of the database in the data folder, or as whoever brings one has set it. */
function ownerOf({ io, dev }: Beside): DatabaseConnection {
  if (dev.migrationUrl !== undefined) return { connectionString: dev.migrationUrl };
  const named = namedDatabase(io, undefined, ["GHOULS_MIGRATION_"]);
  if (named !== undefined) return named;
  throw new CommandError(
    "the role that owns the schema is not known",
    "Set GHOULS_MIGRATION_DATABASE_URL, as for `ghouls migrate`.",
  );
}
