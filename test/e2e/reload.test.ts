import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { wire } from "@ghouls/core";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { defineConfig } from "ghouls";
import { hello } from "./hello.ts";
import { slow } from "./slow.ts";
export default defineConfig({ workflows: [hello, slow], queues: { runs: { batchSize: 1 } } });
`;
const HELLO = `import { workflow } from "ghouls";
import * as z from "zod";
import words from "./words.json" with { type: "json" };
export const hello = workflow({
  name: "hello", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  run: (ctx) => ctx.step("greet", () => words.greeting),
});
`;
/** Its first step waits for the file that its input names; each step tells which worker has run it. */
const SLOW = `import { existsSync, writeFileSync } from "node:fs";
import { workflow } from "ghouls";
import * as z from "zod";
const worker = () => process.env["GHOULS_WORKER_ID"];
export const slow = workflow({
  name: "slow", version: 1, onWorkerLoss: "fail", input: z.string(),
  run: async (ctx, gate) => [
    await ctx.step("first", async () => {
      writeFileSync(gate + ".waits", "");
      while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 10));
      return worker();
    }),
    await ctx.step("second", worker),
  ],
});
`;
const words = (greeting: string) => ({ "words.json": JSON.stringify({ greeting }) });

const says = (text: string | RegExp) =>
  expect.poll(() => project.said.some((line) => line.search(text) >= 0), { timeout: 60_000 }).toBe(true);

async function startSlow(name: string): Promise<{ readonly runId: string; readonly gate: string }> {
  const gate = join(project.folder, name);
  const runId = await project.submit("slow", gate);
  await expect.poll(() => existsSync(`${gate}.waits`), { timeout: 60_000 }).toBe(true);
  return { runId, gate };
}

async function greeting(): Promise<unknown> {
  const { output } = await project.until(await project.submit("hello"), "DONE");
  return output;
}

test("a save runs at once and harms no run: what is in flight ends in the old process and goes on in the new one", async () => {
  project = await devProject({
    "ghouls.config.ts": CONFIG,
    "hello.ts": HELLO,
    "slow.ts": SLOW,
    ...words("hello"),
  });
  await project.start({ watch: true });
  expect(await greeting()).toBe("hello");
  const { runId, gate } = await startSlow("gate-1");
  const before = await project.state();
  // A run whose worker was lost would end, and its step would be cut off.
  await project.save(words("good evening"));
  await says(/^host \| {3}hello@1: [0-9a-f]{8}… → [0-9a-f]{8}…$/);
  expect(await greeting()).toBe("good evening");
  const after = await project.state();
  expect(after.apiUrl).toBe(before.apiUrl);
  const pid = (state: typeof before, role: string) => state.processes.find((one) => one.role === role)?.pid;
  expect(pid(after, "api")).not.toBe(pid(before, "api"));
  const listed = await project.get<wire.WorkflowList>("/v1/workflows");
  expect(
    Object.fromEntries(listed.workflows.map((one) => [`${one.name}@${one.version}`, one.digest])),
  ).toEqual(after.code?.workflows);
  expect((await project.view(runId)).status).toBe("RUNNING");
  await writeFile(gate, "");
  const { output } = await project.until(runId, "DONE");
  const [first, second] = output as string[];
  expect(before.processes.map((one) => one.worker)).toContain(first);
  expect(after.processes.map((one) => one.worker)).toContain(second);
  expect(before.processes.map((one) => one.worker)).not.toContain(second);
  const causes = (await project.timeline(runId)).flatMap((one) =>
    one.kind === "delivery" ? [one.cause] : [],
  );
  expect(causes).toEqual(["admitted", "continued"]);
  await expect
    .poll(async () => (await project.state()).processes.map((one) => one.worker), { timeout: 30_000 })
    .not.toContain(first);
});

test("a save that does not load keeps the old code, also for processes that start later; the next one goes on", async () => {
  project = await devProject({
    "ghouls.config.ts": CONFIG,
    "hello.ts": HELLO,
    "slow.ts": SLOW,
    ...words("hello"),
  });
  await project.start({ watch: true });
  await startSlow("gate-2");
  await project.save({ ...words("new, and never said"), "slow.ts": `${SLOW}const = 1;\n` });
  await says(/the code before goes on: slow\.ts:\d+:7: Expected identifier/);
  expect((await project.state()).code?.refused?.message).toMatch(/^slow\.ts:/);
  // The two that are there are ended; whoever comes after them finds other files on the disk.
  const workers = (await project.state()).processes.filter((one) => one.queue === "runs");
  for (const { pid } of workers) process.kill(pid, "SIGKILL");
  expect(await greeting()).toBe("hello");
  // Beside it there is the run whose worker was killed: it is FAILING until nothing of it can act any more.
  await startSlow("gate-3");
  await project.save({ ...words("good night"), "slow.ts": SLOW.replace(`"second"`, `"third"`) });
  await says(/^host \| {3}slow@1: [0-9a-f]{8}… → [0-9a-f]{8}…, 2 runs are pinned to the old one$/);
  expect(await greeting()).toBe("good night");
  expect((await project.state()).code?.refused).toBeUndefined();
});
