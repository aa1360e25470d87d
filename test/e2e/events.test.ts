import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@ghouls/client";
import type { wire } from "@ghouls/core";
import { afterEach, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { defineConfig } from "ghouls";
import { story } from "./story.ts";
export default defineConfig({ workflows: [story], queues: { runs: { batchSize: 1 } }, timing: { lease: "3s", beat: "1s", actsMargin: "1s" } });
`;
/** Says a word every ten milliseconds until the file is there that its input names. */
const STORY = `import { existsSync } from "node:fs";
import { workflow } from "ghouls";
import * as z from "zod";
export const story = workflow({
  name: "story", version: 1, onWorkerLoss: "resume", input: z.string(),
  run: (ctx, gate) => ctx.step("tell", async () => {
    let words = 0;
    for (; !existsSync(gate); words += 1) {
      ctx.stream("tokens", words + " ");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return words;
  }),
});
`;

/** Follows a run through the host's own port, from its beginning to its end. */
async function following(runId: string) {
  const { apiUrl, tokens } = await project.state();
  const client = createClient({ baseUrl: apiUrl, eventsUrl: apiUrl, token: tokens.submitter });
  const events: wire.RunEvent[] = [];
  const words = () => events.flatMap((event) => (event.kind === "chunk" ? [event.chunk] : []));
  const ended = (async () => {
    for await (const event of client.run(runId).events()) events.push(event);
  })();
  return { events, words, ended };
}

test("whoever looks on is led over to the process that follows a save, in the middle of what a run says", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG, "story.ts": STORY });
  await project.start({ watch: true });
  const gate = join(project.folder, "gate");
  const runId = await project.submit("story", gate);
  const { events, words, ended } = await following(runId);
  await expect.poll(() => words().length, { timeout: 60_000 }).toBeGreaterThan(20);
  const before = await project.state();
  await project.save({ "story.ts": `${STORY}export const changed = 1;\n` });
  const apiOf = (state: typeof before) => state.processes.find(({ role }) => role === "api")?.pid;
  await expect.poll(async () => apiOf(await project.state()), { timeout: 60_000 }).not.toBe(apiOf(before));
  const soFar = words().length;
  await expect.poll(() => words().length, { timeout: 60_000 }).toBeGreaterThan(soFar + 50);
  // The process before has ended: nobody's stream holds it.
  await expect
    .poll(
      async () => {
        try {
          return process.kill(apiOf(before) ?? 0, 0);
        } catch {
          return false;
        }
      },
      { timeout: 60_000 },
    )
    .toBe(false);
  await writeFile(gate, "");
  await ended;
  const { output } = await project.until(runId, "DONE");
  expect(words()).toEqual(Array.from({ length: Number(output) }, (_, at) => `${at} `));
  expect(events.filter(({ kind }) => kind === "gap")).toEqual([]);
  expect(events.at(-1)).toMatchObject({ kind: "finished", status: "DONE" });
});

test("a worker is killed while somebody looks on: its loss is told, what the next one says, and the end", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG, "story.ts": STORY });
  await project.start();
  const gate = join(project.folder, "gate");
  const runId = await project.submit("story", gate);
  const { events, words, ended } = await following(runId);
  await expect.poll(() => words().length, { timeout: 60_000 }).toBeGreaterThan(20);
  const { processes } = await project.state();
  const carrying = events.flatMap((event) => (event.kind === "claimed" ? [event.worker] : []))[0];
  const worker = processes.find((one) => one.worker === carrying);
  expect(worker?.pid).toBeGreaterThan(0);
  process.kill(worker?.pid ?? 0, "SIGKILL");
  await expect
    .poll(() => events.filter(({ kind }) => kind === "claimed").length, { timeout: 60_000 })
    .toBe(2);
  expect(events).toContainEqual(expect.objectContaining({ kind: "settled", outcome: "lost" }));
  await writeFile(gate, "");
  await ended;
  await project.until(runId, "DONE");
  expect(events.at(-1)).toMatchObject({ kind: "finished", status: "DONE" });
});
