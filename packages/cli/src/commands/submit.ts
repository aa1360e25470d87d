import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseJson, type wire } from "@ghouls/core";
import type { Command } from "commander";
import { act, wholeNumber, withApi, type CommonOptions, type Context } from "../command.ts";
import { connect, isNoFile, type ConnectionOptions } from "../dev-file.ts";
import { EXIT, usageError } from "../failure.ts";
import { follow } from "../follow.ts";
import type { Io } from "../io.ts";
import { labels } from "../labels.ts";
import { jsonText, printable } from "../printable.ts";

interface SubmitOptions extends CommonOptions, ConnectionOptions {
  readonly input?: string;
  readonly inputFile?: string;
  readonly key?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly agent?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly held?: boolean;
  readonly startAfter?: string;
  readonly watch?: boolean;
}

/** `ghouls submit`: asks for a run and prints its id. */
export function addSubmit(program: Command, context: Context): void {
  const command = withApi(program.command("submit"))
    .description("ask for a run; prints its id")
    .argument("<workflow>", "name of the workflow")
    .argument("[-]", "read the input from stdin")
    .option("--input <json>", "the input")
    .option("--input-file <file>", "file with the input, - for stdin")
    .option("--key <key>", "idempotency key: the same key and request give the same run")
    .option("--queue <name>", "queue")
    .option("--priority <number>", "0 to 9, 9 first", wholeNumber(0, 9))
    .option("--agent <name>", "agent that carries it out")
    .option("--label <key=value>", "what the run is found by later; repeatable", labels)
    .option("--held", "commit the run, but let nothing move until it is released")
    .option(
      "--start-after <when>",
      'let it start later: a duration such as "2h", or a moment in ISO 8601, UTC',
    )
    .option("--watch", "follow it to its end; exit code 0 only if DONE");
  const options = () => command.opts<SubmitOptions>();
  command.action(
    act(context, options, (workflow: string, dash: string | undefined) =>
      submit(context.io, workflow, dash, options()),
    ),
  );
}

async function submit(
  io: Io,
  workflow: string,
  dash: string | undefined,
  options: SubmitOptions,
): Promise<number> {
  const text = await inputText(io, dash, options);
  const client = await connect(io, options, "submitter");
  const admitted = await client.submit(
    requestOf(workflow, text, options),
    options.key === undefined ? {} : { idempotencyKey: options.key },
  );
  io.out(options.json === true ? `${jsonText(admitted)}\n` : `${printable(admitted.runId)}\n`);
  if (!admitted.created) io.err("ghouls: this key was used before for the same request; this is that run\n");
  if (options.watch !== true) return EXIT.ok;
  return follow(io, client, admitted.runId, options.json === true);
}

function requestOf(workflow: string, text: string | undefined, options: SubmitOptions): wire.RunRequest {
  return {
    workflow,
    ...(text === undefined ? {} : { input: jsonOf(text, "the input") }),
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
    ...(options.label === undefined ? {} : { labels: options.label }),
    ...(options.held === true ? { held: true } : {}),
    ...(options.startAfter === undefined ? {} : { startAfter: options.startAfter }),
  };
}

/** Refuses what would arrive changed, such as numbers beyond 2^53, before anything is sent. */
export function jsonOf(text: string, what: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    throw usageError(
      `${what} is not taken: ${(error as Error).message}`,
      "Give one JSON value, with large numbers as strings.",
    );
  }
}

async function inputText(
  io: Io,
  dash: string | undefined,
  options: SubmitOptions,
): Promise<string | undefined> {
  if (dash !== undefined && dash !== "-")
    throw usageError(`"${dash}" is one argument too many`, "Give the input with --input.");
  const sources = [dash, options.input, options.inputFile].filter((source) => source !== undefined);
  if (sources.length > 1)
    throw usageError("the input is given twice", "Give one of --input, --input-file and -.");
  if (sources[0] === "-") return io.readStdin();
  if (options.inputFile === undefined) return options.input;
  const path = resolve(io.cwd, options.inputFile);
  return readFile(path, "utf8").catch((error: unknown) => {
    if (!isNoFile(error)) throw error;
    throw usageError(`there is no ${path}`, "Name an existing file with --input-file.");
  });
}
