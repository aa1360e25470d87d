import type { wire } from "@ghouls/core";
import type { Command } from "commander";
import { act, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, readDevFile, type ConnectionOptions } from "../dev-file.ts";
import { EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { heldBy } from "../pause-target.ts";
import { type Fact, factsText, jsonText, printable } from "../printable.ts";
import { timelineLine } from "../timeline.ts";

type ShowOptions = CommonOptions & ConnectionOptions;

/** `ghouls show`: one run and what happened to it. */
export function addShow(program: Command, context: Context): void {
  const command = withApi(program.command("show"))
    .description("show a run and what happened to it")
    .argument("<id>", "run id");
  const options = () => command.opts<ShowOptions>();
  command.action(act(context, options, (id: string) => show(context.io, id, options())));
}

async function show(io: Io, id: string, options: ShowOptions): Promise<number> {
  const client = await connect(io, options, "operator");
  const run = await client.getRun(id);
  const timeline = await client.getTimeline(id);
  const found = ((await readDevFile(io, options.dataDir))?.notices ?? []).filter(({ runId }) => runId === id);
  if (options.json === true) {
    const notices = found.map(({ message, fix }) => ({ message, fix }));
    io.out(
      `${jsonText({ run, timeline: timeline.entries, ...(notices.length === 0 ? {} : { notices }) })}\n`,
    );
  } else {
    const entries = timeline.entries.map(timelineLine).join("");
    io.out(
      `${describeRun(run)}\n${entries}${describeWaits(run)}${describeUnits(run)}${describeItems(run)}${describeNotices(found)}`,
    );
  }
  return EXIT.ok;
}

/** What it is parked on, and how each comes to an end. */
function describeWaits({ waits }: wire.RunView): string {
  if (waits.length === 0) return "";
  const lines = waits.map(({ kind, name, scope, dueAt, consentId, attemptId, childRunId }) => {
    const until = dueAt === null ? "" : `, until ${dueAt}`;
    const how =
      consentId !== null
        ? `: ghouls consents ${consentId}`
        : attemptId !== null
          ? `: ghouls attempts ${attemptId}`
          : childRunId !== null
            ? `: ghouls show ${childRunId}`
            : "";
    const where = scope === "" ? "" : ` in ${printable(scope)}`;
    return `${kind.padEnd(22)}${printable(name)}${where}${until}${how}\n`;
  });
  return `\nWaits for\n${lines.join("")}`;
}

/** What it holds of the capacities of the deployment, or asks for. */
function describeUnits({ reservations }: wire.RunView): string {
  if (reservations.length === 0) return "";
  const lines = reservations.map(({ capacity, units, name, status, askedAt, heldAt }) => {
    const of = name === capacity ? "" : ` for ${printable(name)}`;
    const how = {
      WAITING: `asked for since ${askedAt}`,
      AWAY: `asked for since ${askedAt}, on its way to the next worker`,
      HELD: `held since ${heldAt}`,
      LEFT: "in use until nothing of a lost worker acts",
    };
    return `${printable(capacity).padEnd(22)}${units}${of}, ${how[status]}\n`;
  });
  return `\nUnits\n${lines.join("")}`;
}

/** What must be acknowledged before the run may be DONE, FAILED or CANCELLED. */
function describeItems({ runId, containment }: wire.RunView): string {
  if (containment.length === 0) return "";
  const lines = containment.map((item) => {
    const over = item.overAt === null ? "" : `, over at ${item.overAt}`;
    const error = item.lastError === null ? "" : `, last tried in vain: ${item.lastError}`;
    const state =
      item.acknowledgedAt === null
        ? `open${over}${error}`
        : `acknowledged by ${item.acknowledgedBy}: ${item.acknowledgement}`;
    return `${item.id.padEnd(22)}${printable(item.subject)}, delivery ${item.enqueueSeq}: ${printable(state)}\n`;
  });
  const jobs = containment.some(({ kind, acknowledgedAt }) => kind === "attempt" && acknowledgedAt === null);
  const more = jobs ? `Its jobs: npx ghouls attempts --run ${printable(runId)}\n` : "";
  return `\nContainment\n${lines.join("")}${more}`;
}

/** What `ghouls dev` has found out about the workflow by this run. */
function describeNotices(notices: readonly { readonly message: string; readonly fix: string }[]): string {
  if (notices.length === 0) return "";
  const lines = notices.map(({ message, fix }) => `${printable(message)}\n  Fix: ${printable(fix)}\n`);
  return `\nNot deterministic\n${[...new Set(lines)].join("")}`;
}

function quarantineFix({ finishedAt }: wire.RunView): string {
  const what = finishedAt === null ? "lets it go on" : "ends the quarantine; its status stays";
  return `correct the cause, then \`npx ghouls clear\` ${what}`;
}

function describeRun(run: wire.RunView): string {
  const { workflow, error } = run;
  const facts: readonly Fact[] = [
    ["run", run.runId],
    ["status", run.errorCode === null ? run.status : `${run.status} (${run.errorCode})`],
    ["workflow", `${workflow.name} version ${workflow.version}, digest ${workflow.digest}`],
    ["queue", `${run.queue}, priority ${run.priority}`],
    ["agent", run.agent],
    ...Object.entries(run.labels).map(([key, value]) => ["label", `${key}=${value}`] as const),
    ["asked by", run.requestedBy],
    ["parent", run.parentRunId],
    ["redrive of", run.redriveOf],
    ["redriven as", run.redrivenAs],
    ["key", run.idempotencyKey],
    ["delivery", String(run.enqueueSeq)],
    ["steps", String(run.steps)],
    ["attention", run.attention === null ? null : `${run.attention.reason}, since ${run.attention.at}`],
    ["quarantine", run.quarantine === null ? null : `${run.quarantine.reason}, since ${run.quarantine.at}`],
    ["to do", run.quarantine === null ? null : quarantineFix(run)],
    ...run.pauses.map((pause): Fact => ["paused", heldBy(pause)]),
    ["deadline", run.deadlineAt],
    ["created", run.createdAt],
    ["starts", run.startsAt],
    ["started", run.startedAt],
    ["finished", run.finishedAt],
    ["emptied", run.bodiesEmptiedAt === null ? null : `its bodies, by retention, at ${run.bodiesEmptiedAt}`],
    ["input", run.bodiesEmptiedAt === null ? jsonText(run.input) : null],
    ["output", run.status === "DONE" && run.bodiesEmptiedAt === null ? jsonText(run.output) : null],
    ["error", error === null ? null : `${error.name}: ${error.message}`],
    ["failed step", error?.step ?? null],
  ];
  return factsText(facts);
}
