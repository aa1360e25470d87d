import { resolve } from "node:path";
import { canonicalText, sha256, type DigestBasis } from "@ghouls/core";
import type { Difference } from "@ghouls/functions";
import type { Command } from "commander";
import { act, type Context } from "../command.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { DeploymentTools, Io } from "../io.ts";
import { inLedger, withLedgerAccess, type LedgerAccess } from "../ledger-access.ts";
import { jsonText, printable } from "../printable.ts";

interface DiffOptions extends LedgerAccess {
  readonly config: string;
  readonly from?: string;
}

/** A workflow of the configuration beside what it was. */
interface Compared {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** Null where there was none of its name. */
  readonly before: { readonly version: number; readonly digest: string } | null;
  readonly differences: readonly Difference[];
}

/** What there was of a workflow: of its version, else the newest of its name. */
type Before = (name: string, version: number) => Promise<DigestBasis | undefined>;

/** `ghouls workflows diff`: what has changed a digest. */
export function addDiff(workflows: Command, context: Context): void {
  const command = withLedgerAccess(workflows.command("diff"))
    .description(
      "say what has changed the digests since the release that was deployed last, or since a build",
    )
    .argument("[workflow]", "only this one")
    .option("--config <file>", "the configuration", "ghouls.config.ts")
    .option("--from <folder>", "compare with this build; then no database is asked");
  const options = () => command.opts<DiffOptions>();
  command.action(act(context, options, async (workflow?: string) => diff(context.io, workflow, options())));
}

async function diff(io: Io, only: string | undefined, options: DiffOptions): Promise<number> {
  const tools = await io.loadDeployment();
  const all = await tools.basesOf(resolve(io.cwd, options.config));
  const wanted = all.filter(({ name }) => only === undefined || name === only);
  if (wanted.length === 0 && only !== undefined) {
    const names = [...new Set(all.map(({ name }) => name))];
    throw new CommandError(
      `the configuration has no workflow "${only}"`,
      `It has: ${names.join(", ") || "none"}.`,
    );
  }
  const compared = await withBefore(io, options, tools, (before) =>
    Promise.all(wanted.map((after) => compare(after, before, tools))),
  );
  io.out(options.json === true ? `${jsonText({ workflows: compared })}\n` : compared.map(textOf).join(""));
  return EXIT.ok;
}

async function withBefore<T>(
  io: Io,
  options: DiffOptions,
  tools: DeploymentTools,
  task: (before: Before) => Promise<T>,
): Promise<T> {
  if (options.from !== undefined) {
    const bases = await tools.basesOfBuild(resolve(io.cwd, options.from));
    return task((name, version) => {
      const named = bases.filter((one) => one.name === name);
      const newest = named.toSorted((a, b) => b.version - a.version)[0];
      return Promise.resolve(named.find((one) => one.version === version) ?? newest);
    });
  }
  return inLedger(io, options, ({ releases }) =>
    task(async (name, version) => {
      const found = (await releases.newest(name, version)) ?? (await releases.newest(name, null));
      return found === null ? undefined : (JSON.parse(found.basisText) as DigestBasis);
    }),
  );
}

async function compare(
  after: DigestBasis,
  before: Before,
  { differencesOf }: Pick<DeploymentTools, "differencesOf">,
): Promise<Compared> {
  const { name, version } = after;
  const was = await before(name, version);
  return {
    name,
    version,
    digest: digestOf(after),
    before: was === undefined ? null : { version: was.version, digest: digestOf(was) },
    differences: was === undefined ? [] : differencesOf(was, after),
  };
}

function digestOf(basis: DigestBasis): string {
  return sha256(canonicalText(basis));
}

const WORDS: Readonly<Record<Difference["what"], string>> = {
  version: "the version",
  tag: "how digests are made",
  module: "module",
  input: "the input's schema",
  output: "the output's schema",
};

function textOf({ name, version, digest, before, differences }: Compared): string {
  const what = printable(`${name}@${version}`);
  if (before === null) return `${what}: new, ${digest}\n`;
  if (before.digest === digest) return `${what}: unchanged, ${digest}\n`;
  const lines = differences.map(({ what: kind, how, where }) =>
    `  ${how.padEnd(8)} ${WORDS[kind]} ${printable(where)}`.trimEnd(),
  );
  return [`${what}: ${digest}, which was ${before.digest} (version ${before.version})`, ...lines, ""].join(
    "\n",
  );
}
