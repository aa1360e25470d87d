import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStoppedDatabase } from "@ghouls/local";
import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";

/** A damaged ledger, from the start that refuses it to the one that goes on: with the commands that were printed. */

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const bin = fileURLToPath(new URL("../../packages/ghouls/bin/ghouls.mjs", import.meta.url));
let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
const hello = workflow({ name: "hello", version: 1, onWorkerLoss: "resume", input: z.string(), run: (ctx, name) => ctx.step("greet", () => name) });
export default defineConfig({ workflows: [hello], examples: [{ workflow: "hello", input: "Ada" }] });
`;

/** The command in the project's folder, in a process of its own. */
async function ghouls(...argv: string[]) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(AWS_|GHOULS_|DATABASE_)/.test(name));
  const child = spawn(process.execPath, [bin, ...argv], {
    cwd: project.folder,
    env: Object.fromEntries(kept),
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => void (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => void child.on("close", resolve));
  return { code, out, err };
}
const start = () => ghouls("dev", "--once", "--port", "0");

/** As whoever damages it by hand. */
async function damage(): Promise<void> {
  const stopped = await openStoppedDatabase(join(project.folder, ".ghouls"));
  const client = new pg.Client({ connectionString: stopped.connectionString });
  try {
    await client.connect();
    await client.query(
      `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
       select tenant_id, run_id, 'worker', '9', 1, gen_random_uuid(), 'w', ghouls.clock(), ghouls.clock() from ghouls.runs`,
    );
  } finally {
    await client.end();
    await stopped.close();
  }
}

test("a start refuses a damaged ledger with a command that can be followed, and goes on once it was", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG });
  expect(await start()).toMatchObject({ code: 0 });
  await damage();

  const refused = await start();
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toContain("STATUS  RUNS  CHECKED  FAULTY\nDONE       1        1       1\n");
  expect(refused.err).toContain("ghouls: the ledger contradicts itself, so nothing is started");
  const fault = /^ {2}([0-9a-f-]{36}): not so: terminal runs have nothing open/m.exec(refused.err)?.[1] ?? "";
  const command = /npx ghouls (doctor .*--acknowledge) <fault> --reason "<why>"/.exec(refused.err)?.[1] ?? "";
  expect(existsSync(join(project.folder, ".ghouls/dev.json"))).toBe(false);
  expect(await start()).toMatchObject({ code: 1 });

  const strict = await ghouls("doctor", "--strict");
  expect(strict).toMatchObject({ code: 1 });
  expect(strict.out).toContain(`  ${fault}  not so: terminal runs have nothing open`);

  // The refused start has stood in this folder, so the command names none.
  const acknowledged = await ghouls(...command.split(" "), fault, "--reason", "damaged by a test");
  expect(acknowledged).toMatchObject({ code: 0, err: "" });
  expect(acknowledged.out).toContain("acknowledged: not so: terminal runs have nothing open");

  const going = await start();
  expect(going.err).not.toContain("contradicts");
  expect(going).toMatchObject({ code: 0 });
  const known = await ghouls("doctor", "--strict");
  expect(known).toMatchObject({ code: 0 });
  expect(known.out).toMatch(
    /acknowledged: 1\n.*\n.*\n {4}\S+ by \S+ \(command line\): damaged by a test\nrefused: 0\n/,
  );
});

test("a command that looks into a stopped database lets nobody else in meanwhile, and leaves nothing", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG });
  await start();
  const folder = join(project.folder, ".ghouls");
  const stopped = await openStoppedDatabase(folder);
  try {
    await expect(openStoppedDatabase(folder)).rejects.toThrow(/uses the data folder/);
    expect((await start()).err).toContain("uses the data folder");
  } finally {
    await stopped.close();
  }
  expect(existsSync(join(folder, "host.lock"))).toBe(false);
  expect(existsSync(join(folder, "postgres/postmaster.pid"))).toBe(false);
  expect(await start()).toMatchObject({ code: 0 });
});
