import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { inspect } from "node:util";
import { GhoulsError } from "@ghouls/core";
import type { Host, HostOptions } from "./host.ts";
import { startHost } from "./host.ts";
import { checkNode } from "./node-version.ts";
import type { Print } from "./log.ts";
import { carryExamples } from "./once.ts";
import { watchParent } from "./parent.ts";
import type { Parts } from "./parts.ts";
import { dataDirOption, quote } from "./shell.ts";
import { installedParts } from "./installed-parts.ts";

export interface DevOptions {
  /** Path of the configuration. */
  readonly config: string;
  readonly dataDir: string;
  /** 0 for any; undefined for 4700, or a free one where that is taken. */
  readonly port: number | undefined;
  /** Carries the example runs to their end, then exits. */
  readonly once: boolean;
  /** Runs what is saved, but with `once`; true by default. */
  readonly watch?: boolean;
  /** Port of an inspector: one worker then serves all queues, and nothing ends it while a breakpoint holds it. */
  readonly inspect?: number | undefined;
  /** Prints for programs: one line when it is up, the last line of `once` alone, refusals as JSON. */
  readonly json?: boolean;
}

/** What a test replaces. */
export interface DevSurroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly nodeVersion: string;
  readonly out: Print;
  readonly err: Print;
  readonly parts: () => Promise<Parts>;
  /** Where signals arrive. */
  readonly signals: Pick<NodeJS.EventEmitter, "on" | "off">;
  /** Ends this process while it is starting; its child processes end with it. */
  readonly exit: (code: number) => void;
  readonly monotonicMs: () => number;
  readonly parentPid: () => number;
}

const processSurroundings: DevSurroundings = {
  env: process.env,
  nodeVersion: process.versions.node,
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  parts: installedParts,
  signals: process,
  exit: (code) => process.exit(code),
  monotonicMs: () => performance.now(),
  parentPid: () => process.ppid,
};

/** A Ctrl-C reaches us from the terminal and, under `npm start`, from npm as well. */
const SAME_SIGNAL_MS = 500;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `ghouls dev`: runs Ghouls on this machine until a signal, or until the examples have ended.
 * @returns the exit code. Nothing is left running when it resolves
 */
export async function runDev(
  options: DevOptions,
  around: DevSurroundings = processSurroundings,
): Promise<number> {
  const interrupt = new AbortController();
  let host: Host | undefined;
  let firstMs = 0;
  const onSignal = (): void => {
    if (!interrupt.signal.aborted) {
      firstMs = around.monotonicMs();
      around.err("ending; once more to end at once");
      interrupt.abort();
    } else if (around.monotonicMs() - firstMs < SAME_SIGNAL_MS) {
      return;
    } else if (host === undefined) around.exit(130);
    else host.kill();
  };
  for (const signal of SIGNALS) around.signals.on(signal, onSignal);
  const underNpm = around.env["npm_lifecycle_event"] !== undefined;
  const unwatch = underNpm ? watchParent(around.parentPid, onSignal) : () => undefined;
  try {
    checkNode(around.nodeVersion);
    host = await startHost(await hostOptions(options, around));
    if (interrupt.signal.aborted) return options.once ? 1 : 0;
    if (options.once && host.config.examples.length === 0) {
      throw new GhoulsError(
        "configuration_invalid",
        "--once has nothing to carry: the configuration has no examples",
        {
          fix: 'Add examples: [{ workflow: "hello", input: { … } }] to defineConfig.',
        },
      );
    }
    return await (options.once
      ? once(host, options, around, interrupt.signal)
      : stay(host, options, around, interrupt.signal));
  } catch (error) {
    explain(error, around.err, options.json === true);
    return 1;
  } finally {
    await host?.stop();
    unwatch();
    for (const signal of SIGNALS) around.signals.off(signal, onSignal);
  }
}

async function hostOptions(options: DevOptions, around: DevSurroundings): Promise<HostOptions> {
  return {
    configPath: options.config,
    dataDir: options.dataDir,
    port: options.port,
    env: around.env,
    print: around.err,
    printLog: options.once ? () => undefined : (line) => showLog(line, around.err),
    parts: await around.parts(),
    watch: options.watch !== false && !options.once,
    once: options.once,
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
  };
}

/** The servers' own talk is in the log file only. */
function showLog(line: string, err: Print): void {
  if (!/^(postgres|sqs|dynamodb) \|/.test(line)) err(line);
}

async function once(
  host: Host,
  options: DevOptions,
  around: DevSurroundings,
  signal: AbortSignal,
): Promise<number> {
  const waiting = new AbortController();
  const carried = carryExamples({
    apiUrl: host.state.apiUrl,
    token: host.state.tokens.submitter,
    examples: host.config.examples,
    print: options.json === true ? () => undefined : around.out,
    signal: AbortSignal.any([signal, waiting.signal]),
  });
  const ended = await Promise.race([
    carried.then((result) => ({ result })),
    host.broken.then((reason) => ({ reason })),
  ]).catch((error: unknown) => {
    if (signal.aborted) return { reason: "interrupted" };
    throw error;
  });
  if ("result" in ended) {
    // The last line on stdout is for programs: nothing is printed after it.
    around.out(JSON.stringify(ended.result));
    return ended.result.ok ? 0 : 1;
  }
  waiting.abort();
  await carried.catch(() => undefined);
  around.err(`${ended.reason}; the log is ${host.logFile}`);
  return 1;
}

async function stay(
  host: Host,
  options: DevOptions,
  around: DevSurroundings,
  signal: AbortSignal,
): Promise<number> {
  const { apiUrl } = host.state;
  if (options.json === true)
    around.out(JSON.stringify({ apiUrl, dataDir: options.dataDir, log: host.logFile }));
  else for (const line of welcome(host, options)) around.out(line);
  const interrupted = new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const reason = await Promise.race([interrupted, host.broken]);
  if (reason === undefined) return 0;
  around.err(`${reason}; the log is ${host.logFile}`);
  return 1;
}

/** What to open and what to try. Tokens are named by where they stand, and not printed. */
function welcome(host: Host, { dataDir, watch }: DevOptions): readonly string[] {
  const { apiUrl, consoleUrl } = host.state;
  const state = join(dataDir, "dev.json");
  const first = host.config.examples[0];
  const elsewhere = dataDirOption(dataDir);
  const token = `$(node -p "JSON.parse(require('fs').readFileSync('${state}')).tokens.submitter")`;
  const submits =
    first === undefined
      ? [`  npx ghouls submit <workflow> --input '{…}'${elsewhere}`]
      : [`  npx ghouls submit ${first.workflow} --input ${quote(JSON.stringify(first.input))}${elsewhere}`];
  const curl =
    first === undefined
      ? []
      : [
          `  curl -X POST ${apiUrl}/v1/runs -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' \\`,
          `    -H "Idempotency-Key: try-1" -d ${quote(JSON.stringify(first))}`,
        ];
  return [
    "",
    "Ghouls is up.",
    `  API     ${apiUrl}  (${apiUrl}/openapi.json)`,
    ...(consoleUrl === undefined
      ? []
      : [`  console npx ghouls console${elsewhere}  (prints a link that signs you in)`]),
    `  state   ${state}  (tokens, database, processes)`,
    `  log     ${host.logFile}`,
    ...(watch === false ? [] : ["  watch   what you save runs at once, and is told here"]),
    "",
    "Try",
    ...submits,
    `  npx ghouls runs${elsewhere}`,
    `  npx ghouls watch <run id>${elsewhere}`,
    ...curl,
    "",
  ];
}

function explain(error: unknown, err: Print, json: boolean): void {
  if (json) {
    const { code, message, fix, issues } =
      error instanceof GhoulsError
        ? error
        : { code: "failed", message: String(error), fix: undefined, issues: undefined };
    err(JSON.stringify({ error: { code, message, fix, errors: issues } }));
    return;
  }
  if (!(error instanceof GhoulsError)) {
    // With what has caused it: "fetch failed" alone tells nothing.
    err(error instanceof Error ? inspect(error) : String(error));
    return;
  }
  err(`ghouls: ${error.message}`);
  for (const { path, message } of error.issues ?? []) err(`  ${path}: ${message}`);
  if (error.fix !== undefined) err(`  Fix: ${error.fix}`);
}
