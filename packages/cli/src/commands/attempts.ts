import { statesOf, type wire } from "@ghouls/core";
import { Option, type Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { pageOf, tellMore, withPage, type PageOptions } from "../paging.ts";
import { type Fact, factsText, jsonText, printable, table } from "../printable.ts";
import { jsonOf } from "./submit.ts";

interface AttemptsOptions extends CommonOptions, ConnectionOptions, PageOptions {
  readonly status?: wire.AttemptSummary["status"];
  readonly run?: string;
  readonly resolve?: wire.AttemptResolution["outcome"];
  readonly result?: string;
  readonly reason?: string;
}

const SETTLE =
  'Write: ghouls attempts <id> --resolve succeeded --result <json> --reason "how you know", or failed or cancelled';

/** `ghouls attempts`: jobs at other services, or one of them, or an operator's word about one of which nobody knows. */
export function addAttempts(program: Command, context: Context): void {
  const command = withPage(withApi(program.command("attempts")))
    .description("list the jobs that were delegated to other services, newest first, or show or settle one")
    .argument("[id]", "attempt id: shows it, with what was asked and what came of it")
    .addOption(new Option("--status <status>", "only those with this status").choices(statesOf("attempt")))
    .option("--run <id>", "only of this run")
    .addOption(
      new Option("--resolve <outcome>", "say how an UNCERTAIN job has ended; needs --reason").choices([
        "succeeded",
        "failed",
        "cancelled",
      ]),
    )
    .option("--result <json>", "with --resolve succeeded: what it gave")
    .option("--reason <text>", "with --resolve: how you know; it is kept in the audit");
  const options = () => command.opts<AttemptsOptions>();
  command.action(
    act(context, options, (id: string | undefined) => {
      const { resolve, reason } = options();
      if (resolve !== undefined && (id === undefined || reason === undefined))
        throw new CommandError("--resolve needs the id of an attempt, and --reason", SETTLE, EXIT.usage);
      if (id === undefined) return list(context.io, options());
      return resolve === undefined ? show(context.io, id, options()) : settle(context.io, id, options());
    }),
  );
}

async function list(io: Io, options: AttemptsOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const page = await client.listAttempts({
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.run === undefined ? {} : { runId: options.run }),
    ...pageOf(options),
  });
  if (options.json === true) {
    io.out(`${jsonText(page)}\n`);
    return EXIT.ok;
  }
  const rows = page.attempts.map((one) => [one.status, one.service, one.name, one.attemptId, one.runId]);
  io.out(table(["STATUS", "SERVICE", "JOB", "ID", "RUN"], rows));
  for (const { attemptId, uncertain, trouble, contradiction } of page.attempts) {
    for (const why of [uncertain ?? trouble?.why ?? null, contradiction])
      if (why !== null) io.err(`attempt ${printable(attemptId)}: ${printable(why)}\n`);
  }
  tellMore(io, page);
  return EXIT.ok;
}

async function show(io: Io, id: string, options: AttemptsOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const attempt = await client.getAttempt(id);
  io.out(options.json === true ? `${jsonText(attempt)}\n` : describeAttempt(attempt));
  return EXIT.ok;
}

async function settle(io: Io, id: string, options: AttemptsOptions): Promise<number> {
  const { resolve: outcome, result, reason, json } = options;
  if (outcome === undefined || reason === undefined) return EXIT.usage;
  const given = result === undefined ? {} : { result: jsonOf(result, "--result") };
  const client = await connect(io, options, "operator");
  const answer = await client.resolveAttempt(id, { outcome, reason, ...given });
  if (json === true) io.out(`${jsonText(answer)}\n`);
  else io.out(`${answer.status}${answer.resumed ? ", the run goes on" : ""}\n`);
  return EXIT.ok;
}

function cancellingOf({ cancelling }: wire.AttemptView): string | null {
  switch (cancelling) {
    case null:
      return null;
    case "deadline":
      return "its deadline has passed";
    case "ended":
      return "its run does not wait for it any more";
    case "restart":
      return "its run has started over";
  }
}

function describeAttempt(attempt: wire.AttemptView): string {
  const { executor, error } = attempt;
  const facts: readonly Fact[] = [
    ["attempt", attempt.attemptId],
    ["job", attempt.name],
    ["status", attempt.closedBy === null ? attempt.status : `${attempt.status}, by ${attempt.closedBy}`],
    ["uncertain", attempt.uncertain],
    ["last answer", attempt.trouble === null ? null : `${attempt.trouble.why}, at ${attempt.trouble.at}`],
    ["cancelling", attempt.closedAt === null ? cancellingOf(attempt) : null],
    ["contradicts", attempt.contradiction],
    ["run", `${attempt.runId} of ${attempt.workflow}`],
    [
      "service",
      `${attempt.service}, ${executor.adapter} ${executor.version}, ${executor.digest.slice(0, 12)}`,
    ],
    ["key", attempt.idempotencyKey],
    ["submissions", String(attempt.submissions)],
    ["taken", attempt.acknowledgedAt],
    ["heartbeat", attempt.heartbeatAt],
    ["deadline", attempt.deadlineAt],
    ["next look", attempt.nextLookAt],
    ["digest", attempt.digest],
    ["request", jsonText(attempt.request)],
    ["result", attempt.status === "SUCCEEDED" ? jsonText(attempt.result) : null],
    ["error", error === null ? null : `${error.code}: ${error.message}`],
  ];
  const next =
    attempt.status === "UNCERTAIN"
      ? `\nNobody knows whether it acts. Ask ${printable(attempt.service)} about the key, then:\n` +
        `  npx ghouls attempts ${printable(attempt.attemptId)} --resolve succeeded --result '<json>' --reason "…"\n` +
        `  npx ghouls attempts ${printable(attempt.attemptId)} --resolve failed|cancelled --reason "…"\n`
      : "";
  return `${factsText(facts)}${next}`;
}
