import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const MODULES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
const folders: string[] = [];
afterAll(async () => {
  for (const one of folders) await rm(one, { recursive: true, force: true });
});

/** A folder that goes with the test file. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "ghouls-project-")));
  folders.push(root);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

/** A user's project, with the packages of this repository. */
export async function project(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const root = await folder({
    "package.json": '{"type":"module"}',
    "hello.ts": HELLO,
    "ghouls.config.ts": CONFIG,
    ...files,
  });
  // A folder of its own, so that a test can put a package beside ours.
  await mkdir(join(root, "node_modules"), { recursive: true });
  for (const name of ["ghouls", "zod"]) await symlink(join(MODULES, name), join(root, "node_modules", name));
  return root;
}

export const HELLO = `import { workflow } from "ghouls";
import * as z from "zod";
export const hello = workflow({
  name: "hello", version: 1, onWorkerLoss: "resume", input: z.object({ name: z.string() }),
  run: async (ctx, { name }) => ctx.step("greet", () => "Good evening, " + name),
});
`;
export const CONFIG = `import { defineConfig } from "ghouls";
import { hello } from "./hello.ts";
export default defineConfig({ workflows: [hello] });
`;
