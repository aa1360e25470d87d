import { once } from "node:events";
import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

let project: DevProject;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await project.remove();
});

const LEASE_SECONDS = 2;
/** The invocation's limit is shorter than what the test stands still, and so is the step's timeout. */
const FILES = {
  "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { stand } from "./stand.ts";
export default defineConfig({
  workflows: [stand],
  queues: { runs: { functionTimeout: "5s" }, rites: {} },
  timing: { lease: "${LEASE_SECONDS}s", beat: "500ms", actsMargin: "1s" },
});
`,
  "stand.ts": `import { workflow } from "ghouls";
import * as z from "zod";
export const stand = workflow({
  name: "stand", version: 1, onWorkerLoss: "resume", input: z.unknown(),
  run: (ctx) => ctx.step("stand", ({ signal }) => {
    debugger;
    return { aborted: signal.aborted, worker: process.env["GHOULS_WORKER_ID"] };
  }, { timeout: "1s" }),
});
`,
};

/** A debugger that is attached to the worker with the inspector. */
async function attach() {
  const found = async () => (await project.state()).processes.find((one) => one.inspector !== undefined);
  await expect.poll(found, { timeout: 60_000 }).toBeDefined();
  const worker = await found();
  const socket = new WebSocket(worker?.inspector ?? "");
  closing.push(() => socket.close());
  await once(socket, "open");
  let sent = 0;
  const paused = Promise.withResolvers<void>();
  const answers = new Map<number, () => void>();
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as { id?: number; method?: string };
    if (message.method === "Debugger.paused") paused.resolve();
    if (message.id !== undefined) answers.get(message.id)?.();
  });
  const send = async (method: string): Promise<void> => {
    const answered = Promise.withResolvers<void>();
    answers.set((sent += 1), answered.resolve);
    socket.send(JSON.stringify({ id: sent, method }));
    await answered.promise;
  };
  await send("Debugger.enable");
  return { pid: worker?.pid ?? 0, worker: worker?.worker, send, paused: paused.promise };
}

/** Waits until the ledger's time has moved by this many leases since the run was claimed. */
async function leasesPass(runId: string, leases: number): Promise<void> {
  const client = new pg.Client({ connectionString: (await project.state()).databaseUrl });
  closing.push(() => client.end());
  await client.connect();
  const passed = async (): Promise<number> => {
    const { rows } = await client.query<{ seconds: number }>(
      `select extract(epoch from ghouls.clock() - claimed_at)::double precision as seconds
       from ghouls.deliveries where run_id = $1 and seq = 1`,
      [runId],
    );
    return rows[0]?.seconds ?? 0;
  };
  await expect.poll(passed, { timeout: 60_000, interval: 100 }).toBeGreaterThan(leases * LEASE_SECONDS);
}

test("a process that stands at a breakpoint for three leases, and longer than its invocation, loses nothing", async () => {
  project = await devProject(FILES);
  await project.start({ inspect: 0 });
  const workers = (await project.state()).processes.filter((one) => one.role === "worker");
  expect(workers).toHaveLength(1);
  const { send, paused, worker } = await attach();
  const runId = await project.submit("stand");
  await paused;
  await leasesPass(runId, 3);
  const standing = await project.view(runId);
  expect(standing).toMatchObject({ status: "RUNNING", enqueueSeq: 1, containment: [] });
  await send("Debugger.resume");
  const { output, containment, attention } = await project.until(runId, "DONE");
  expect({ output, containment, attention }).toEqual({
    output: { aborted: false, worker },
    containment: [],
    attention: null,
  });
  const kinds = (await project.timeline(runId)).map((entry) => entry.kind);
  expect(kinds).toEqual(["admitted", "delivery", "published", "claimed", "step", "settled", "finished"]);
});

test("a process that dies at a breakpoint loses its claim as ever, and the next one has an inspector too", async () => {
  project = await devProject(FILES);
  await project.start({ inspect: 0 });
  const { pid, paused, worker } = await attach();
  const runId = await project.submit("stand");
  await paused;
  process.kill(pid, "SIGKILL");
  const { output } = await project.until(runId, "DONE");
  expect(output).toMatchObject({ aborted: false });
  const entries = await project.timeline(runId);
  expect(entries.find((entry) => entry.kind === "worker_ended")).toMatchObject({ worker, how: "SIGKILL" });
  const causes = entries.flatMap((entry) => (entry.kind === "delivery" ? [entry.cause] : []));
  expect(causes).toEqual(["admitted", "recovered"]);
  expect((await attach()).worker).not.toBe(worker);
});
