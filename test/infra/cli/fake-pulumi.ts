import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundle, placeOf, recorderCall } from "@ghouls/localstack-utils";

/**
 * Stands where the SST command looks for Pulumi. `stack init` leaves an empty state. `up` runs the program that the
 * command has bundled, under the recorder's mocks and against the command's own server.
 */

const [command, ...options] = process.argv.slice(2);

if (command === "stack") initStack(options.at(-1) ?? "");
if (command === "up") process.exitCode = await up();

function initStack(stack: string): void {
  const [, app = "", stage = ""] = stack.split("/");
  const folder = join(".pulumi", "stacks", app);
  mkdirSync(folder, { recursive: true });
  const latest = { manifest: { time: "2026-01-01T00:00:00Z", magic: "", version: "" } };
  writeFileSync(join(folder, `${stage}.json`), JSON.stringify({ version: 3, checkpoint: { stack, latest } }));
}

async function up(): Promise<number> {
  const program = /^main: (.*)$/m.exec(readFileSync("Pulumi.yaml", "utf8"))?.[1] ?? "";
  const [, name = "", stage = ""] = optionOf("--stack").split("/");
  const config = Object.fromEntries(
    options.flatMap((option, index) => (option === "--config" ? [pairOf(options[index + 1] ?? "")] : [])),
  ) as Record<string, string>;
  const root = dirname(dirname(dirname(program)));
  const outfile = `${program}.recorded.mjs`;
  const app = { name, stage, removal: "", home: "", providers: { aws: config } };
  await bundle({
    root,
    outfile,
    globals: "",
    // A variable, so that the bundler leaves the import alone.
    code: `const program = ${JSON.stringify(program)};
${recorderCall({ app, root, place: placeOf({}, config["aws:region"] ?? ""), result: process.env["GHOULS_GRAPH"] ?? "" })}(
  async () => (await import(program)).default);`,
  });
  const { status } = spawnSync(process.execPath, ["--no-warnings", outfile], { stdio: "inherit" });
  rmSync(outfile);
  return status ?? 1;
}

function optionOf(name: string): string {
  return options[options.indexOf(name) + 1] ?? "";
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}
