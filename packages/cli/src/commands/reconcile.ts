import { PASSES, type PassName, type wire } from "@ghouls/core";
import { Option, type Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, type ConnectionOptions } from "../dev-file.ts";
import { EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, printable, table } from "../printable.ts";

interface ReconcileOptions extends CommonOptions, ConnectionOptions {
  readonly dryRun?: boolean;
  readonly pass?: readonly PassName[];
  readonly status?: boolean;
}

/** `ghouls reconcile`: runs passes of the reconciler now, says what they would do, or shows what they did. */
export function addReconcile(program: Command, context: Context): void {
  const command = withApi(program.command("reconcile"))
    .description(
      "run passes of the reconciler now, in every tenant; the token needs the permission deployment:reconcile. Passes that ask " +
        "services, decision sources or queues of dead letters are left to the reconciler's next invocation. Exit code 1 where a pass or an owner failed",
    )
    .option("--dry-run", "say what would be done, a line each, and do nothing")
    .addOption(new Option("--pass <name...>", "only these passes").choices(PASSES))
    .option("--status", "show how far the passes have come, what stands aside, and the newest repairs");
  const options = () => command.opts<ReconcileOptions>();
  command.action(
    act(context, options, () => {
      const { status: only, dryRun, pass } = options();
      if (only !== true) return reconcile(context.io, options());
      if (dryRun === true || pass !== undefined)
        throw usageError("--status only shows, and all passes", "Leave --dry-run and --pass out.");
      return status(context.io, options());
    }),
  );
}

async function reconcile(io: Io, options: ReconcileOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const answer = await client.runPasses({
    ...(options.pass === undefined ? {} : { passes: [...options.pass] }),
    ...(options.dryRun === true ? { dryRun: true } : {}),
  });
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else if (answer.dryRun) tellFindings(io, answer);
  else tellRun(io, answer);
  for (const { pass, error } of answer.passes)
    if (error !== null && options.json !== true) io.err(`${pass}: ${printable(error)}\n`);
  return answer.passes.some(({ error, failed }) => error !== null || failed > 0) ? EXIT.failed : EXIT.ok;
}

function tellRun(io: Io, { passes }: wire.PassesRun): void {
  const counts = ({ did, found, repaired, left, failed, degraded }: wire.PassAnswer) =>
    did === "later"
      ? ["later", "", "", "", ""]
      : [found, repaired, left, failed, degraded].map((count) => String(count));
  io.out(
    table(
      ["PASS", "FOUND", "REPAIRED", "LEFT", "FAILED", "DEGRADED"],
      passes.map((one) => [one.pass, ...counts(one)]),
    ),
  );
  const later = passes.filter(({ did }) => did === "later").map(({ pass }) => pass);
  if (later.length > 0)
    io.err(
      `Taken by the reconciler's next invocation, because they ask somebody else: ${later.join(", ")}\n`,
    );
  const unturned = passes.filter(({ more }) => more).map(({ pass }) => pass);
  if (unturned.length > 0) io.err(`There was no time for: ${unturned.join(", ")}\n`);
}

function tellFindings(io: Io, { passes }: wire.PassesRun): void {
  const rows = passes.flatMap(({ pass, findings }) =>
    findings.map(({ rule, runId, owner, before }) => [pass, rule, runId ?? owner, before]),
  );
  io.out(table(["PASS", "RULE", "RUN", "BEFORE"], rows));
  if (rows.length === 0 && passes.every(({ error }) => error === null)) io.err("Nothing is due.\n");
  const more = passes.filter((one) => one.more && one.error === null).map(({ pass }) => pass);
  if (more.length > 0) io.err(`There is more of: ${more.join(", ")}\n`);
}

async function status(io: Io, options: ReconcileOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const state = await client.getReconciler();
  if (options.json === true) {
    io.out(`${jsonText(state)}\n`);
    return EXIT.ok;
  }
  io.out(
    table(
      ["PASS", "ROUND", "CURSOR", "LAST", "FOUND", "REPAIRED", "FAILED", "ERROR"],
      state.passes.map((one) => [
        one.pass,
        String(one.round),
        one.cursor ?? "",
        one.endedAt ?? "never",
        String(one.found),
        String(one.repaired),
        String(one.failed),
        one.error ?? "",
      ]),
    ),
  );
  if (state.degradedPages.length > 0) io.out(`\n${degradedText(state)}`);
  if (state.repairs.length > 0)
    io.out(
      `\n${table(
        ["REPAIRED", "PASS", "RUN", "RULE", "BEFORE", "AFTER"],
        state.repairs.map(({ at, pass, runId, rule, before, after }) => [
          at,
          pass,
          runId,
          rule,
          before,
          after,
        ]),
      )}`,
    );
  return EXIT.ok;
}

function degradedText({ degradedOwners }: wire.ReconcilerState): string {
  return table(
    ["ASIDE", "RUN", "PAGE", "SINCE", "TRIES", "NEXT TURN", "REASON"],
    degradedOwners.map((one) => [
      one.pass,
      one.runId ?? one.owner,
      one.pageId.slice(0, 8),
      one.degradedAt,
      String(one.tries),
      one.nextTurnAt,
      one.reason,
    ]),
  );
}
