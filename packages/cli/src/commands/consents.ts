import { statesOf, wire } from "@ghouls/core";
import { Option, type Command } from "commander";
import { act, wholeNumber, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, printable, table } from "../printable.ts";

interface ConsentsOptions extends CommonOptions, ConnectionOptions {
  readonly status?: wire.ConsentView["status"];
  readonly all?: boolean;
  readonly run?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** `ghouls consents`: what is asked of people, or one request as it was frozen. */
export function addConsents(program: Command, context: Context): void {
  const command = withApi(program.command("consents"))
    .description("list the consents that wait for a decision, newest first, or show one")
    .argument("[id]", "consent id: shows it, with its digest and who has decided")
    .addOption(new Option("--status <status>", "those with this status instead").choices(statesOf("consent")))
    .option("--all", "whatever their status")
    .option("--run <id>", "only of this run")
    .option("--limit <number>", `1 to ${wire.MAX_PAGE}`, wholeNumber(1, wire.MAX_PAGE))
    .option("--cursor <cursor>", "where the page before ended");
  const options = () => command.opts<ConsentsOptions>();
  command.action(
    act(context, options, (id: string | undefined) =>
      id === undefined ? list(context.io, options()) : show(context.io, id, options()),
    ),
  );
}

async function list(io: Io, options: ConsentsOptions): Promise<number> {
  const client = await connect(io, options, "decider");
  const status = options.status ?? (options.all === true ? undefined : "PENDING");
  const page = await client.listConsents({
    ...(status === undefined ? {} : { status }),
    ...(options.run === undefined ? {} : { runId: options.run }),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
  });
  if (options.json === true) {
    io.out(`${jsonText(page)}\n`);
    return EXIT.ok;
  }
  const rows = page.consents.map((consent) => [
    consent.status,
    consent.title,
    consent.consentId,
    consent.runId,
    consent.expiresAt ?? "never",
  ]);
  io.out(table(["STATUS", "TITLE", "ID", "RUN", "EXPIRES"], rows));
  for (const { consentId, problem } of page.consents)
    if (problem !== null) io.err(`consent ${printable(consentId)}: ${printable(problem)}\n`);
  if (page.nextCursor !== null) io.err(`There are more: --cursor ${printable(page.nextCursor)}\n`);
  return EXIT.ok;
}

async function show(io: Io, id: string, options: ConsentsOptions): Promise<number> {
  const client = await connect(io, options, "decider");
  const consent = await client.getConsent(id);
  io.out(options.json === true ? `${jsonText(consent)}\n` : describeConsent(consent));
  return EXIT.ok;
}

/** A request as deciders see it. */
export function describeConsent(consent: wire.ConsentView): string {
  const facts: readonly (readonly [string, string | null])[] = [
    ["consent", consent.consentId],
    ["title", consent.title],
    ["status", consent.closedBy === null ? consent.status : `${consent.status}, by ${consent.closedBy}`],
    ["run", `${consent.runId} of ${consent.workflow}, asked for by ${consent.requestedBy}`],
    ["deciders", `${consent.deciders.join(", ")}${consent.quorum > 1 ? `, ${consent.quorum} of them` : ""}`],
    ["source", consent.source],
    ["expires", consent.expiresAt === null ? null : `${consent.expiresAt}, which means ${consent.onExpiry}`],
    ["detail", consent.detail === null ? null : jsonText(consent.detail)],
    ["digest", consent.digest],
    ...consent.decisions.map(
      ({ by, verdict, at, comment }) =>
        ["decision", `${verdict} by ${by} at ${at}${comment === null ? "" : `: ${comment}`}`] as const,
    ),
  ];
  return facts
    .filter((fact): fact is readonly [string, string] => fact[1] !== null)
    .map(([name, value]) => `${name.padEnd(12)}${printable(value)}\n`)
    .join("");
}
