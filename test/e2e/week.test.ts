import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";
import { openLog } from "../../packages/local/src/log.ts";
import { startPostgres } from "../../packages/local/src/postgres.ts";
import { loadPasswords } from "../../packages/local/src/secrets.ts";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { appendFileSync } from "node:fs";
import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
const release = workflow({
  name: "release", version: 1, onWorkerLoss: "resume", input: z.string(),
  run: async (ctx, folder) => {
    const write = (name: string) => ctx.step(name, () => { appendFileSync(folder + "/steps.txt", name + "\\n"); return name; });
    const before = await write("before");
    const [, consent] = await Promise.all([ctx.sleep("7d"), ctx.consent("release it", { deciders: ["role:decider"] })]);
    return [before, consent.outcome, await write("after")];
  },
});
export default defineConfig({ workflows: [release] });
`;

/** The server by itself, as nothing of Ghouls runs: its clock goes ahead. */
async function aWeekPasses(): Promise<void> {
  const dataDir = join(project.folder, ".ghouls");
  const { superuser } = await loadPasswords(dataDir);
  const log = openLog(join(project.folder, "postgres.log"), () => undefined);
  const postgres = await startPostgres({ dataDir, password: superuser, env: process.env, log });
  const client = new pg.Client({ connectionString: postgres.adminUrl });
  try {
    await client.connect();
    await client.query(
      `create or replace function ghouls.clock() returns timestamptz language sql stable parallel safe
       as 'select statement_timestamp() + interval ''7 days 1 minute'''`,
    );
  } finally {
    await client.end();
    await postgres.stop();
    await log.close();
  }
}

const steps = async () => (await readFile(join(project.folder, "steps.txt"), "utf8")).trim().split("\n");

test.each(["stop", "kill"] as const)(
  "a run that is parked while everything ends (%s) comes back a week later, and repeats no step",
  async (how) => {
    project = await devProject({ "ghouls.config.ts": CONFIG });
    const host = await project.start();
    const runId = await project.submit("release", project.folder);
    const { waits } = await project.until(runId, "AWAITING_CONSENT");
    expect(waits.map(({ kind }) => kind).toSorted()).toEqual(["consent", "sleep"]);
    if (how === "kill") host.kill();
    await host.stop();
    await aWeekPasses();

    await project.start();
    // Its timer is over, and the consent is what it waits for still.
    await expect
      .poll(async () => (await project.view(runId)).waits.map(({ kind }) => kind), { timeout: 60_000 })
      .toEqual(["consent"]);
    await project.until(runId, "AWAITING_CONSENT");
    expect(await steps()).toEqual(["before"]);
    await project.decide(runId, "grant");
    const { output } = await project.until(runId, "DONE");
    expect(output).toEqual(["before", "GRANTED", "after"]);
    expect(await steps()).toEqual(["before", "after"]);
  },
);
