import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { act, wholeNumber, withJson, type CommonOptions, type Context } from "../command.ts";
import { isNoFile } from "../dev-file.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { lifetime, manage, plainText, withOwnersDatabase, type ManageOptions } from "../manage.ts";
import { jsonText, printable } from "../printable.ts";

interface WorkerOptions extends CommonOptions {
  readonly config: string;
  readonly queue?: readonly string[];
  readonly concurrency?: number;
  readonly grace?: number;
  readonly name?: string;
  readonly stateDir?: string;
}

interface EndedOptions extends ManageOptions {
  readonly reason: string;
  readonly actor?: string;
  readonly actsMargin: number;
}

/** The longest timer of Node, in milliseconds. */
const LONGEST_GRACE_MS = 2_147_483_647;

/** `ghouls worker`: a worker that is no function, and the word of whoever has seen one end. */
export function addWorker(program: Command, context: Context): void {
  const command = withJson(program.command("worker"))
    .enablePositionalOptions()
    .description(
      "serve queues of a real SQS from here, for steps of any length: a process that is started again when it ends, and that " +
        "ends in order on SIGTERM or SIGINT; a second one changes nothing",
    )
    .option("--config <file>", "the configuration", "ghouls.config.ts")
    .option("--queue <name...>", 'queues to serve (else all that say worker: "process")')
    .option(
      "--concurrency <number>",
      "runs at once of each queue (else its batchSize times its concurrency)",
      wholeNumber(1, 1_000),
    )
    .option(
      "--grace <duration>",
      'end the process by force so long after it was told to end, such as "90s" (else never: its steps take as long as they take)',
      grace,
    )
    .option(
      "--name <name>",
      "what claims are called after, unique for each start (else of this machine, the process and chance)",
      supervisorName,
    )
    .option(
      "--state-dir <folder>",
      "keeps the names of processes whose end is not recorded, for the next start on this machine",
    );
  addEnded(command, context);
  const options = () => command.opts<WorkerOptions>();
  command.action(act(context, options, () => work(context.io, options())));
}

async function work(io: Io, options: WorkerOptions): Promise<number> {
  const config = resolve(io.cwd, options.config);
  await access(config).catch((error: unknown) => {
    if (!isNoFile(error)) throw error;
    throw new CommandError(`there is no ${config}`, "Name your configuration with --config.");
  });
  const ghouls = await io.loadWorker();
  return ghouls.runWorker({
    config,
    queues: options.queue ?? [],
    concurrency: options.concurrency,
    graceMs: options.grace,
    name: options.name,
    stateDir: options.stateDir === undefined ? undefined : resolve(io.cwd, options.stateDir),
    json: options.json === true,
    env: io.env,
  });
}

function addEnded(worker: Command, context: Context): void {
  const command = withOwnersDatabase(worker.command("ended"))
    .description(
      "say that a worker has ended, in the place of a supervisor that has not: what waits for that goes on. Say it only of one " +
        "that you know to be gone",
    )
    .argument(
      "<worker>",
      "name of the process, as `ghouls show` has it, or of its supervisor for all of its",
      workerName,
    )
    .requiredOption(
      "--reason <text>",
      "how you know; it is kept in the audit of every run concerned",
      plainText(1_000),
    )
    .option("--actor <name>", "whose word it is (else the user of this system)", plainText(200))
    .option(
      "--acts-margin <duration>",
      "how long what it had sent may still act: `timing.actsMargin` of the configuration",
      lifetime,
      60_000,
    );
  const options = () => command.opts<EndedOptions>();
  command.action(act(context, options, (name: string) => ended(context.io, name, options())));
}

async function ended(io: Io, worker: string, options: EndedOptions): Promise<number> {
  const actor = `${options.actor ?? io.user()} (command line)`;
  const { reason, actsMargin } = options;
  const answer = await manage(io, options, ({ deliveries }) =>
    deliveries.sayWorkerEnded({ worker, actor, reason, actsMarginSeconds: actsMargin / 1_000 }),
  );
  if (options.json === true) io.out(`${jsonText(answer)}\n`);
  else if (answer.workers.length === 0)
    io.out(`nothing is held by ${printable(worker)}: its end is recorded, or the name is another\n`);
  else
    io.out(
      `ended: ${answer.workers.map(printable).join(", ")}; ${answer.runs} run(s) held something of it, and go on once ${actsMargin} ms have passed\n`,
    );
  return EXIT.ok;
}

function grace(text: string): number {
  const ms = lifetime(text);
  if (ms > LONGEST_GRACE_MS) throw new InvalidArgumentError('Give "24d" at most, or leave it out.');
  return ms;
}

function supervisorName(text: string): string {
  if (text.includes("/"))
    throw new InvalidArgumentError("The slash stands before the process of a supervisor.");
  return workerName(text);
}

/** Names stand in logs, in the ledger and in commands. Behind the slash is a process of a supervisor. */
function workerName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]{0,149}(?:\/[A-Za-z0-9]{1,40})?$/.test(text))
    throw new InvalidArgumentError(
      "Give letters, digits and . _ : -, at most 150, and a letter or digit first.",
    );
  return text;
}
