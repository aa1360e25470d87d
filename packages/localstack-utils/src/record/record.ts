import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import type { Recording } from "./child.ts";
import type { App, Graph, JsonObject, Place } from "./graph.ts";

export interface RecordOptions {
  /** Folder of the project: it holds sst.config.ts and .sst/platform. */
  readonly root: string;
  readonly stage: string;
  /** Records what `sst dev` would register. */
  readonly dev?: boolean;
  /** Values of `sst secret set`. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly account?: string;
  /** Start of a queue's URL; an emulator has one of its own. */
  readonly sqsUrl?: string;
  /** Answers of provider functions by their token, such as "aws:ec2/getSubnet:getSubnet". */
  readonly answers?: Readonly<Record<string, JsonObject>>;
  /** Environment of the program; of this process it sees only PATH, HOME and the temporary folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds after which a program that has not come to rest is ended; 600,000 by default, as it may build. */
  readonly timeout?: number;
}

const RECORDER = import.meta.dirname;
const REGION = "us-east-1";

/**
 * Evaluates a project's sst.config.ts without AWS and without Pulumi's engine.
 * @throws Error with what the program itself said
 */
export async function recordGraph(options: RecordOptions): Promise<Graph> {
  const { root, stage } = options;
  const platform = join(root, ".sst/platform");
  const scratch = mkdtempSync(join(tmpdir(), "ghouls-graph-"));
  const name = scratch.slice(-6);
  // Node resolves Pulumi and the providers from beside the program.
  const [reader, program] = [join(platform, `app.${name}.mjs`), join(platform, `graph.${name}.mjs`)];
  try {
    const app = await readApp(options, reader, join(scratch, "app.json"));
    const region = regionOf(app);
    const recording: Recording = {
      app,
      root,
      place: placeOf(options, region),
      result: join(scratch, "graph.json"),
    };
    await bundle({
      root,
      outfile: program,
      define: defines(app, options),
      inject: [join(platform, "src/shim/run.js")],
      globals: globalImports(root),
      code: `import { run } from ${JSON.stringify(join(platform, "src/auto/run.ts"))};
import config from ${JSON.stringify(join(root, "sst.config.ts"))};
import { rpc } from ${JSON.stringify(join(platform, "src/components/rpc/rpc.ts"))};
${recorderCall(recording, "rpc")}(() => run(config.run));`,
    });
    await runProgram(program, {
      ...options,
      env: { ...secretsOf(options), ...regions(region), ...options.env },
    });
    return readJson(recording.result) as Graph;
  } catch (error) {
    throw new Error(`recording stage ${stage} of ${root}: ${(error as Error).message}`, { cause: error });
  } finally {
    for (const file of [reader, program]) rmSync(file, { force: true });
    rmSync(scratch, { recursive: true });
  }
}

/**
 * Code that waits for a program to be handed to it, and records it with the project's own Pulumi.
 * @param rpc "rpc" where SST's own is answered here
 */
export function recorderCall(recording: Recording, rpc?: "rpc"): string {
  return `import * as pulumi from "@pulumi/pulumi";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks.js";
import { recordProgram } from ${JSON.stringify(join(RECORDER, "child.ts"))};
((program) => recordProgram({ pulumi, MockMonitor, ${rpc ?? ""} }, ${JSON.stringify(recording)}, program))`;
}

export function placeOf(
  options: Pick<RecordOptions, "account" | "sqsUrl" | "answers">,
  region: string,
): Place {
  const { account = "123456789012", answers = {} } = options;
  return { account, region, answers, sqsUrl: options.sqsUrl ?? `https://sqs.${region}.amazonaws.com` };
}

/** What `app()` says, completed as the command does. */
async function readApp(options: RecordOptions, outfile: string, result: string): Promise<App> {
  const { root, stage } = options;
  await bundle({
    root,
    outfile,
    banner: "const $config = (config) => config;\n",
    code: `import { writeFileSync } from "node:fs";
import config from ${JSON.stringify(join(root, "sst.config.ts"))};
writeFileSync(${JSON.stringify(result)}, JSON.stringify(await config.app({ stage: ${JSON.stringify(stage)} })));`,
  });
  await runProgram(outfile, options);
  const app = readJson(result) as Omit<App, "stage"> & Partial<Pick<App, "removal" | "providers">>;
  return {
    ...app,
    removal: app.removal ?? "retain",
    protect: app.protect ?? false,
    providers: { aws: {}, ...app.providers },
    stage,
  };
}

function regionOf({ providers }: App): string {
  const { region } = providers["aws"] as { readonly region?: string };
  return region ?? REGION;
}

function regions(region: string): Record<string, string> {
  return { SST_AWS_REGION: region, AWS_REGION: region };
}

function secretsOf({ secrets = {} }: RecordOptions): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`SST_SECRET_${name}`, value]));
}

/** The constants that the command compiles into a program. */
function defines(app: App, { root, dev = false }: RecordOptions): Record<string, string> {
  const work = join(root, ".sst");
  const paths = { home: join(work, "home"), root, work, platform: join(work, "platform") };
  return {
    $app: JSON.stringify(app),
    $cli: JSON.stringify({ command: "deploy", dev, paths, state: { version: {} } }),
    $dev: String(dev),
  };
}

/** `aws`, `sst` and the like are globals of an infrastructure file. */
function globalImports(root: string): string {
  const lock = readJson(join(root, ".sst/provider-lock.json")) as readonly {
    alias: string;
    package: string;
  }[];
  return [
    ...lock.map(({ alias, package: from }) => `import * as ${alias} from ${JSON.stringify(from)};`),
    `import * as sst from ${JSON.stringify(join(root, ".sst/platform/src/components"))};`,
  ].join("\n");
}

/** @throws Error with all that the program said, where it did not end well */
function runProgram(file: string, { root, env = {}, timeout = 600_000 }: RecordOptions): Promise<void> {
  const kept = ["PATH", "HOME", "TMPDIR"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--enable-source-maps", "--no-warnings", file], {
      cwd: root,
      env: { ...Object.fromEntries(kept), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    const timer = setTimeout(() => {
      said += `\nit had not come to rest after ${timeout} ms`;
      child.kill("SIGKILL");
    }, timeout);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(`the program ended with ${code}:\n${said.trim()}`));
    });
  });
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}
