import { afterEach, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

test("ghouls dev tells of a workflow that asks the clock, on its board too, and its run is DONE", async () => {
  project = await devProject({
    "ghouls.config.ts": `import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
const odd = workflow({
  name: "odd", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  run: (ctx) => ctx.step("at " + Date.now(), () => "done"),
});
export default defineConfig({ workflows: [odd] });
`,
  });
  await project.start();
  const runId = await project.submit("odd");
  await project.until(runId, "DONE");
  await expect.poll(async () => (await project.state()).notices, { timeout: 30_000 }).toHaveLength(1);
  const [notice] = (await project.state()).notices ?? [];
  expect(notice).toMatchObject({
    runId,
    message: expect.stringMatching(
      /^odd: on replay, call 1 is step "at \d+" where the run had step "at \d+"$/,
    ),
    fix: expect.stringContaining("ctx.now()"),
  });
  expect(project.said).toContain(`${notice?.message} (run ${runId})`);
  expect((await project.view(runId)).output).toBe("done");
});
