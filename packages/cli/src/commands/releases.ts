import { isAbsolute, resolve } from "node:path";
import type { ReleasePlace } from "@ghouls/functions";
import { InvalidArgumentError, type Command } from "commander";
import { act, type Context } from "../command.ts";
import { given } from "../dev-file.ts";
import { EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
import { inLedger, withLedgerAccess, type LedgerAccess, type OpenLedger } from "../ledger-access.ts";
import { lifetime } from "../manage.ts";
import { jsonText, table } from "../printable.ts";

interface StoreOptions extends LedgerAccess {
  readonly store?: string;
}

interface PublishOptions extends StoreOptions {
  readonly from: string;
}

interface PruneOptions extends StoreOptions {
  readonly unused: number;
}

/** `ghouls workflows releases`, `publish` and `prune`: code that workers load for the runs of earlier deploys. */
export function addReleases(workflows: Command, context: Context): void {
  addList(workflows, context);
  addPublish(workflows, context);
  addPrune(workflows, context);
}

function addList(workflows: Command, context: Context): void {
  const command = withLedgerAccess(workflows.command("releases")).description(
    "the code that deploys have left for their runs, with how many open runs are pinned to each",
  );
  const options = () => command.opts<LedgerAccess>();
  command.action(
    act(context, options, () =>
      inLedger(context.io, options(), async ({ releases }) => {
        const all = await releases.all();
        context.io.out(
          options().json === true
            ? `${jsonText({
                releases: all.map(({ basisText: _basis, removedAt: _removed, workflow, ...rest }) => ({
                  ...workflow,
                  ...rest,
                })),
              })}\n`
            : table(
                ["WORKFLOW", "VERSION", "DIGEST", "BUILD", "DEPLOYED", "SIZE", "RUNS"],
                all.map(({ workflow: { name, version, digest }, build, deployedAt, bytes, runs }) => [
                  name,
                  String(version),
                  digest,
                  build,
                  deployedAt.toISOString(),
                  `${Math.ceil(bytes / 1_000)} kB`,
                  String(runs),
                ]),
              ),
        );
        return EXIT.ok;
      }),
    ),
  );
}

function addPublish(workflows: Command, context: Context): void {
  const command = withStore(workflows.command("publish"))
    .description("put the releases of a build where workers load them, and record them, as a deploy does")
    .option("--from <folder>", "the build", ".ghouls/functions");
  const options = () => command.opts<PublishOptions>();
  command.action(
    act(context, options, () =>
      inLedger(context.io, options(), async (ledger) => {
        const { io } = context;
        const tools = await io.loadDeployment();
        const { from, json } = options();
        const published = await tools.publishBuild(resolve(io.cwd, from), placeOf(io, options(), ledger));
        if (json === true) io.out(`${jsonText(published)}\n`);
        else
          io.out(`build ${published.build}: ${published.releases.length} releases, ${published.added} new\n`);
        return EXIT.ok;
      }),
    ),
  );
}

function addPrune(workflows: Command, context: Context): void {
  const command = withStore(workflows.command("prune"))
    .description(
      "remove releases that a later deploy has replaced a while ago, and that no open run is pinned to",
    )
    .option("--unused <duration>", "for how long, at least 1h", unused, 30 * 86_400_000);
  const options = () => command.opts<PruneOptions>();
  command.action(
    act(context, options, () =>
      inLedger(context.io, options(), async (ledger) => {
        const { io } = context;
        const tools = await io.loadDeployment();
        const place = placeOf(io, options(), ledger);
        const { removed, deleted, missing } = await tools.pruneReleases(options().unused, place);
        if (options().json === true) io.out(`${jsonText({ removed, deleted, missing })}\n`);
        else io.out(`${removed} releases removed, ${deleted} bundles deleted\n`);
        if (missing.length === 0) return EXIT.ok;
        io.err(
          `A deploy has put these there meanwhile; publish its build once more: ${missing.join(", ")}\n`,
        );
        return EXIT.failed;
      }),
    ),
  );
}

function unused(text: string): number {
  const milliseconds = lifetime(text);
  if (milliseconds < 3_600_000) throw new InvalidArgumentError('Give at least "1h".');
  return milliseconds;
}

function withStore(command: Command): Command {
  return withLedgerAccess(command).option(
    "--store <place>",
    "where releases lie: s3://<bucket>/<prefix> or a folder (else GHOULS_RELEASES, else the data folder's)",
  );
}

/** Where releases lie, beside the ledger that knows them. @throws CommandError where neither option nor variable says so */
function placeOf(io: Io, options: StoreOptions, ledger: OpenLedger): ReleasePlace {
  const named = options.store ?? given(io, "GHOULS_RELEASES");
  const local = options.databaseUrl === undefined && given(io, "DATABASE_URL") === undefined;
  const place = named ?? (local ? resolve(io.cwd, options.dataDir, "releases") : undefined);
  if (place === undefined)
    throw usageError(
      "it is not said where releases lie",
      "Give --store, or set GHOULS_RELEASES: s3://<bucket>/<prefix>, or a folder.",
    );
  const endpoint = given(io, "AWS_ENDPOINT_URL");
  return {
    place: place.startsWith("s3://") || isAbsolute(place) ? place : resolve(io.cwd, place),
    region: given(io, "AWS_REGION") ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint }),
    ledger,
  };
}
