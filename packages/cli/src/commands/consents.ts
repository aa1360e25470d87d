import { statesOf, type wire } from "@ghouls/core";
import { Option, type Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { pageOf, tellMore, withPage, type PageOptions } from "../paging.ts";
import { type Fact, factsText, jsonText, printable, table } from "../printable.ts";

interface ConsentsOptions extends CommonOptions, ConnectionOptions, PageOptions {
  readonly status?: wire.ConsentView["status"];
  readonly all?: boolean;
  readonly run?: string;
}

/** `ghouls consents`: what is asked of people, or one request as it was frozen. */
export function addConsents(program: Command, context: Context): void {
  const command = withPage(withApi(program.command("consents")))
    .description("list the consents that wait for a decision, newest first, or show one")
    .argument("[id]", "consent id: shows it, with its digest and who has decided")
    .addOption(new Option("--status <status>", "those with this status instead").choices(statesOf("consent")))
    .option("--all", "whatever their status")
    .option("--run <id>", "only of this run");
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
    ...pageOf(options),
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
  tellMore(io, page);
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
  const facts: readonly Fact[] = [
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
  return factsText(facts);
}
