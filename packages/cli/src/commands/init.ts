import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { act, withJson, type CommonOptions, type Context } from "../command.ts";
import { isNoFile } from "../dev-file.ts";
import { CommandError, EXIT } from "../failure.ts";
import type { Io } from "../io.ts";
import { jsonText, printable } from "../printable.ts";
import { SAMPLE } from "../sample.ts";

/** `ghouls init`: writes a configuration and a first workflow, and nothing else. */
export function addInit(program: Command, context: Context): void {
  const command = withJson(program.command("init"))
    .description("write ghouls.config.ts and workflows/hello.ts into a project or an empty folder")
    .argument("[folder]", "where", ".");
  const options = () => command.opts<CommonOptions>();
  command.action(act(context, options, (folder: string) => init(context.io, folder, options())));
}

async function init(io: Io, folder: string, options: CommonOptions): Promise<number> {
  const root = resolve(io.cwd, folder);
  const project = await projectOf(root);
  const written: string[] = [];
  const skipped: string[] = [];
  for (const [path, text] of Object.entries(SAMPLE)) {
    ((await writeNew(join(root, path), text)) ? written : skipped).push(path);
  }
  const next = nextCommands(project, relative(io.cwd, root));
  if (options.json === true) {
    io.out(`${jsonText({ folder: root, written, skipped, next })}\n`);
  } else {
    for (const path of written) io.out(`wrote ${path}\n`);
    for (const path of skipped) io.err(`skipped ${path}: it is there already\n`);
    io.out(`\nNext:\n${next.map((line) => `  ${printable(line)}\n`).join("")}`);
  }
  return written.length > 0 ? EXIT.ok : EXIT.failed;
}

interface Project {
  readonly manager: "npm" | "pnpm";
  /** Whether its package.json says that its files are CommonJS, as `npm init` writes unasked. */
  readonly commonJs: boolean;
}

/** The package manager and module type of a project; npm for an empty folder. */
async function projectOf(root: string): Promise<Project> {
  const entries = await readdir(root).catch((error: unknown): string[] => {
    if (isNoFile(error)) return [];
    throw error;
  });
  if (entries.includes("package.json")) {
    const text = await readFile(join(root, "package.json"), "utf8");
    const pnpm =
      entries.some((entry) => entry.startsWith("pnpm-")) || /"packageManager"\s*:\s*"pnpm@/.test(text);
    return { manager: pnpm ? "pnpm" : "npm", commonJs: /"type"\s*:\s*"commonjs"/.test(text) };
  }
  if (
    entries.every((entry) => entry.startsWith(".") || Object.hasOwn(SAMPLE, entry) || entry === "workflows")
  )
    return { manager: "npm", commonJs: false };
  throw new CommandError(
    `${root} is neither empty nor a project with a package.json`,
    "Name an empty folder, or run `npm init` there first.",
  );
}

/** False where the file is there already; it is not touched. */
async function writeNew(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function nextCommands(project: Project, folder: string): string[] {
  const [add, execute] =
    project.manager === "pnpm"
      ? ["pnpm add ghouls zod && pnpm add --save-dev @ghouls/local", "pnpm exec"]
      : ["npm install ghouls zod && npm install --save-dev @ghouls/local", "npx"];
  const install = project.commonJs ? `npm pkg set type=module && ${add}` : add;
  return [
    folder === "" ? install : `cd ${JSON.stringify(folder)} && ${install}`,
    `${execute} ghouls dev`,
    `${execute} ghouls submit hello --input '{"name":"world"}'`,
  ];
}
