import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { addressOf } from "../support/crash-world.ts";
import { testDatabase } from "../support/database.ts";
import { testQueue } from "../support/queue.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/wait.ts";
import { superviseWorker } from "../../packages/ghouls/src/worker/supervisor.ts";
import { workerCommand, workerEnvironment, type WorkerCommandOptions } from "../support/worker-command.ts";

const [db, sqs] = [await testDatabase(), await testQueue()];
const folder = mkdtempSync(join(tmpdir(), "ghouls-worker-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A user's project: its worker loads it from there. */
const CONFIG = (timing: string) => `import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
export default defineConfig({
  workflows: [workflow({ name: "w", version: 1, onWorkerLoss: "resume", module: import.meta.url, input: z.null(), run: async () => 1 })],
  queues: { runs: { worker: "process" }, rites: { functionTimeout: "15m" } },
  timing: ${timing},
});
`;
const config = join(folder, "ghouls.config.ts");
symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
writeFileSync(join(folder, "package.json"), `{"type":"module"}`);
writeFileSync(config, CONFIG("{}"));

const start = (over: Partial<WorkerCommandOptions> = {}) =>
  workerCommand({ databaseUrl: db.applicationUrl, sqs, config, ...over });

describe("a worker that cannot begin ends with 1, and says what to do:", () => {
  const elsewhere = (name: string) => `${sqs.endpoint}/000000000000/${name}`;
  const nowhere = new URL(db.applicationUrl);
  nowhere.pathname = "/nowhere";

  test.each<[string, Partial<WorkerCommandOptions>, readonly string[]]>([
    ["no database", { env: { DATABASE_URL: "" } }, ["DATABASE_URL"]],
    [
      "no database of that name",
      { databaseUrl: nowhere.href },
      ["there is no such database on the server", "3D000"],
    ],
    ["no URL of a queue", { env: { GHOULS_QUEUE_RUNS_URL: "" } }, ["Set GHOULS_QUEUE_RUNS_URL"]],
    ["a queue that is not configured", { args: ["--queue", "slow"] }, ['no queue \\"slow\\"', "runs, rites"]],
    [
      "a queue that does not exist",
      { env: { GHOULS_QUEUE_RUNS_URL: elsewhere("none") } },
      ['the queue \\"runs\\" does not exist', "Check its URL"],
    ],
    [
      "a configuration that cannot be loaded",
      { config: join(folder, "none.ts") },
      ["there is no", "none.ts"],
    ],
    ["a name with a slash", { args: ["--name", "a/b"] }, ["The slash stands before"]],
    ["a grace without a unit", { args: ["--grace", "90"] }, ["Give a whole number and a unit"]],
    ["a grace beyond all timers", { args: ["--grace", "30d"] }, ["Give"]],
  ])("%s", async (_, over, texts) => {
    const one = start(over);
    const { code } = await one.ended;
    expect(code).toBe(one.said.some((line) => line.includes("error: option")) ? 2 : 1);
    await until("its last word", () => one.said.length > 0);
    for (const text of texts) expect(one.said.join("\n")).toContain(text);
    expect(one.workers).toEqual([]);
  });
});

test("a worker waits for a database that is away, and for a queue that does not answer, and says so", async () => {
  const [database, queue] = await Promise.all([
    tcpProxy(addressOf(db.applicationUrl)),
    tcpProxy({ host: "127.0.0.1", port: Number(new URL(sqs.endpoint).port) }),
  ]);
  database.refuse();
  queue.refuse();
  const endpoint = new URL(queue.through(sqs.endpoint)).origin;
  const one = start({
    databaseUrl: database.through(db.applicationUrl),
    env: { AWS_ENDPOINT_URL: endpoint },
  });
  // Another is told to end meanwhile: it hears it.
  const other = start({ databaseUrl: database.through(db.applicationUrl) });
  await Promise.all([one, other].map((each) => each.untilSaid("the database did not answer")));
  other.signal("SIGTERM");
  expect(await other.ended).toEqual({ code: 0, signal: null });
  expect(one.said.join("\n")).toContain("this worker takes nothing yet: it waits");
  database.restore();
  await one.untilSaid('the queue \\"runs\\" did not answer');
  expect(one.workers).toEqual([]);
  queue.restore();
  await one.untilServing();
  one.signal("SIGTERM");
  expect(await one.ended).toEqual({ code: 0, signal: null });
});

test("a process that ends is started again, also after it could not begin, or could not be kept", async () => {
  const stateDir = join(folder, "state");
  const one = start({ args: ["--state-dir", stateDir] });
  const first = await one.untilServing();
  writeFileSync(config, "export default 7;\n");
  process.kill(first.pid, "SIGKILL");
  await one.untilSaid("could not begin: the worker");
  writeFileSync(config, CONFIG("{}"));
  const second = await one.untilServing(2);
  expect(second.worker).not.toBe(first.worker);
  // Its folder goes: what is recorded cannot be forgotten, and nothing new can be kept.
  cpSync(stateDir, join(folder, "kept"), { recursive: true });
  rmSync(stateDir, { recursive: true });
  writeFileSync(stateDir, "no folder");
  process.kill(second.pid, "SIGKILL");
  await one.untilSaid(`${second.worker} stays in ${stateDir}`);
  await one.untilSaid("could not begin: ENOTDIR");
  rmSync(stateDir);
  mkdirSync(stateDir);
  await one.untilServing(3);
  one.signal("SIGTERM");
  expect(await one.ended).toEqual({ code: 0, signal: null });
  expect(readdirSync(stateDir)).toEqual([]);
});

test("an end that cannot be recorded is told, and left to the next start where there is a folder", async () => {
  const proxy = await tcpProxy(addressOf(db.applicationUrl));
  const supervise = async (stateDir?: string) => {
    proxy.restore();
    const [said, ending] = [[] as string[], new AbortController()];
    const supervised = superviseWorker({
      order: { config, queues: [], concurrency: null, waitSeconds: 1 },
      name: "short",
      env: workerEnvironment({ databaseUrl: proxy.through(db.applicationUrl), sqs }),
      log: (text) => said.push(text),
      ending: ending.signal,
      times: { recordMs: 50 },
      ...(stateDir === undefined ? {} : { stateDir }),
    });
    await until("it serves", () => said.some((text) => text.includes(" serves ")));
    proxy.refuse();
    ending.abort();
    expect(await supervised).toBe(false);
    return said.at(-1);
  };
  const stateDir = join(folder, "left");
  expect(await supervise(stateDir)).toMatch(
    /^the end of short\/\w+ is not recorded; the next start with --state-dir .+ does it$/,
  );
  expect(readdirSync(stateDir)).toHaveLength(1);
  expect(await supervise()).toMatch(
    /is not recorded; say so once the ledger answers: ghouls worker ended short\//,
  );
});
