import { resolve } from "node:path";
import { carriedBy, isRunId, judgementLines } from "@ghouls/core";
import type { Command } from "commander";
import { act, type Context } from "../command.ts";
import { verifyAll } from "./doctor-full.ts";
import { CommandError, EXIT, usageError } from "../failure.ts";
import type { Diagnosis, Io } from "../io.ts";
import { inLedger, withLedgerAccess, type LedgerAccess, type OpenLedger } from "../ledger-access.ts";
import { plainText } from "../manage.ts";
import { jsonText, printable, table } from "../printable.ts";

interface DoctorOptions extends LedgerAccess {
  readonly full?: true;
  readonly strict?: true;
  readonly config?: string;
  readonly acknowledge?: string;
  readonly reason?: string;
  readonly actor?: string;
}

/** `ghouls doctor`: the invariants of the ledger, with the rows that break them (design.md §4); and the judgement of a start. */
export function addDoctor(program: Command, context: Context): void {
  const command = withLedgerAccess(program.command("doctor"))
    .description("check the invariants of the ledger; exit code 1 where one is broken")
    .option("--full", "also verify all terminal records and seals; keeps each fault, and quarantines its run")
    .option(
      "--strict",
      "judge as a start and a deploy do: keep each fault, quarantine the run of a new one; exit code 1 where one stands that nobody has acknowledged",
    )
    .option("--config <file>", "with --strict: also judge open runs whose code this configuration lacks")
    .option(
      "--acknowledge <fault>",
      "say that a fault is known and may stand; it stops no start and no deploy then",
    )
    .option("--reason <text>", "with --acknowledge: why; it is kept", plainText(1_000))
    .option(
      "--actor <name>",
      "with --acknowledge: whose word it is (else the user of this system)",
      plainText(200),
    );
  const options = () => command.opts<DoctorOptions>();
  command.action(
    act(context, options, async () => {
      const task = taskOf(context.io, options());
      return inLedger(context.io, options(), task);
    }),
  );
}

/** What is asked for. @throws CommandError where that is two things, or half of one */
function taskOf(io: Io, options: DoctorOptions): (ledger: OpenLedger) => Promise<number> {
  const { full, strict, config, acknowledge: fault, reason, actor } = options;
  if (full === true && (strict === true || fault !== undefined))
    throw usageError("--full is a look of its own", "Leave --strict and --acknowledge out.");
  if (fault === undefined) {
    if (reason !== undefined || actor !== undefined)
      throw usageError("--reason and --actor are for --acknowledge", "Give --acknowledge <fault> too.");
    if (config !== undefined && strict !== true)
      throw usageError("--config is for --strict", "Give --strict too.");
    return strict === true ? (ledger) => judge(io, ledger, options) : (ledger) => doctor(io, ledger, options);
  }
  if (strict === true || config !== undefined)
    throw usageError("--acknowledge judges nothing", "Leave --strict and --config out.");
  if (reason === undefined)
    throw usageError("--acknowledge needs a reason", "Say with --reason why the fault may stand.");
  if (!isRunId(fault))
    throw usageError(`"${fault}" is no id of a fault`, "Take it from `ghouls doctor --strict`.");
  const word = { actor: `${actor ?? io.user()} (command line)`, reason };
  return (ledger) => acknowledge(io, ledger, fault, { ...word, json: options.json === true });
}

async function doctor(io: Io, ledger: OpenLedger, options: DoctorOptions): Promise<number> {
  const diagnoses = await ledger.doctor();
  const look = options.full === true ? await verifyAll(ledger) : undefined;
  const ok = diagnoses.length > 0 && diagnoses.every((diagnosis) => diagnosis.ok) && look?.ok !== false;
  const evidence = look === undefined ? {} : { evidence: look.evidence };
  io.out(
    options.json === true
      ? `${jsonText({ ok, checks: diagnoses, ...evidence })}\n`
      : `${readable(diagnoses)}${look?.text ?? ""}`,
  );
  return ok ? EXIT.ok : EXIT.failed;
}

async function judge(io: Io, ledger: OpenLedger, { config, json }: DoctorOptions): Promise<number> {
  const judged = await ledger.integrity.judge({ by: "doctor", carried: await carriedIn(io, config) });
  const ok = judged.refused.count === 0;
  io.out(json === true ? `${jsonText({ ok, ...judged })}\n` : linesText(judgementLines(judged)));
  if (!ok && json !== true)
    io.err('Settle each, or let it stand: ghouls doctor --acknowledge <fault> --reason "<why>"\n');
  return ok ? EXIT.ok : EXIT.failed;
}

/** The digests that a configuration has and accepts; undefined where none is named. */
async function carriedIn(io: Io, config: string | undefined) {
  if (config === undefined) return undefined;
  const tools = await io.loadDeployment();
  return carriedBy(await tools.workflowsOf(resolve(io.cwd, config)));
}

async function acknowledge(
  io: Io,
  ledger: OpenLedger,
  faultId: string,
  { json, ...word }: { readonly actor: string; readonly reason: string; readonly json: boolean },
): Promise<number> {
  const answer = await ledger.integrity.acknowledge(faultId, word);
  if (answer === null) {
    throw new CommandError(
      `there is no fault ${faultId}`,
      "`ghouls doctor --strict` lists those that stand.",
    );
  }
  const { acknowledged, fault } = answer;
  const { acknowledged: by, goneAt, runId, quarantine } = fault;
  if (json) io.out(`${jsonText(answer)}\n`);
  else if (acknowledged) {
    io.out(`acknowledged: not so: ${printable(`${fault.check} (${fault.subject})`)}\n`);
    if (quarantine === "made")
      io.out(`its run is quarantined until: ghouls clear ${runId} --reason "<why it may go on>"\n`);
  } else if (by !== null) {
    io.out(`acknowledged before, ${by.at.toISOString()} by ${printable(`${by.by}: ${by.reason}`)}\n`);
  } else io.out(`gone since ${goneAt?.toISOString()}: there is nothing to acknowledge\n`);
  return acknowledged || by !== null ? EXIT.ok : EXIT.failed;
}

function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function readable(diagnoses: readonly Diagnosis[]): string {
  const rows = diagnoses.map(({ check, ok, rows: broken }) => [
    ok ? "ok" : "BROKEN",
    String(broken.length),
    check,
  ]);
  const broken = diagnoses
    .filter(({ ok }) => !ok)
    .map(({ check, rows: found }) =>
      [`\n${printable(check)}\n`, ...found.map((row) => `  ${printable(jsonText(row))}\n`)].join(""),
    );
  return table(["RESULT", "ROWS", "CHECK"], rows) + broken.join("");
}
