import {
  existsSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { isAlive, untilGone } from "ghouls/processes/alive";
import { SOUND, cleanEnv, fakeParts } from "./fake-parts.support.ts";
import type { Host, HostOptions } from "./host.ts";
import { startHost } from "./host.ts";
import { checkNode } from "./node-version.ts";
import { postmasterOf } from "./postmaster.ts";
import type { DevState } from "./state.ts";
import { until } from "./until.support.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-host-"));
chmodSync(folder, 0o755);
const hosts: Host[] = [];
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const dataDir = join(folder, "data");
const printed: string[] = [];

async function start(over: Partial<HostOptions> = {}): Promise<Host> {
  const host = await startHost({
    configPath: "/some/ghouls.config.ts",
    dataDir,
    port: 0,
    env: cleanEnv({ GHOULS_MIGRATION_DATABASE_URL: "postgres://secret" }),
    print: (line) => printed.push(line),
    printLog: (line) => printed.push(line),
    parts: fakeParts().parts,
    watch: false,
    reconcileEveryMs: 50,
    ...over,
  });
  hosts.push(host);
  return host;
}

const readState = (): DevState => JSON.parse(readFileSync(join(dataDir, "dev.json"), "utf8")) as DevState;
const pidOf = (state: DevState, role: string) =>
  state.processes.find((entry) => entry.role === role)?.pid ?? 0;
const workersOf = (queue: string) => readState().processes.filter((entry) => entry.queue === queue);

async function send(state: DevState, queue: string, body: string): Promise<void> {
  const response = await fetch(state.sqsUrl ?? "", {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
    body: JSON.stringify({ QueueUrl: `${state.sqsUrl}/000000000000/${queue}`, MessageBody: body }),
  });
  expect(response.status).toBe(200);
}

async function depthOf(state: DevState, queue: string): Promise<Record<string, number>> {
  const response = await fetch(`${state.sqsUrl}/_fauxqs/queues/${queue}`);
  const { messages } = (await response.json()) as { messages: Record<string, unknown[]> };
  return { ready: messages["ready"]?.length ?? -1, inflight: messages["inflight"]?.length ?? -1 };
}

describe("the host", () => {
  test("starts in order, says where everything is, and leaves nothing but its data", async () => {
    const { parts, notes } = fakeParts();
    const host = await start({ parts });
    expect(notes).toEqual([
      "roles ghouls ghouls_migrator ghouls_app",
      "migrate ghouls as ghouls_migrator for ghouls_app",
      "keys of default operator, default submitter, default decider",
      "closed",
      'capacities {"gpu":1}',
    ]);
    const state = readState();
    expect(statSync(join(dataDir, "dev.json")).mode & 0o777).toBe(0o600);
    expect(state).toMatchObject({ apiUrl: host.state.apiUrl, tokens: host.state.tokens });
    expect(new URL(state.databaseUrl).username).toBe("ghouls_app");
    expect(new Set(Object.values(state.tokens)).size).toBe(3);
    expect(new URL(state.migrationUrl ?? "").username).toBe("ghouls_migrator");
    expect(statSync(join(dataDir, "keys.json")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(dataDir, "keys.json"), "utf8"))).toEqual(state.tokens);
    const roles = [
      "host",
      "postgres",
      "postgres-keeper",
      "sqs",
      "dynamodb",
      "api",
      "worker",
      "worker",
      "reconciler",
    ];
    expect(state.processes.map((entry) => entry.role)).toEqual(roles);
    expect(state.processes.every((entry) => isAlive(entry.pid))).toBe(true);
    const request = { headers: { authorization: `Bearer ${state.tokens.submitter}` } };
    expect((await fetch(`${state.apiUrl}/v1/runs/none`, request)).status).toBe(404);
    expect((await fetch(`${state.apiUrl}/v1/runs/none`)).status).toBe(401);
    await host.stop();
    for (const { role, pid } of state.processes) if (role !== "host") expect(isAlive(pid), role).toBe(false);
    expect(readdirSync(dataDir).toSorted()).toEqual([
      "host.log",
      "keys.json",
      "passwords.json",
      "postgres",
      "sqs",
    ]);
    expect(notes.slice(5)).toEqual([
      expect.stringMatching(/^ended .*SIGKILL \(stopped by the host\)$/),
      expect.stringMatching(/^ended .*SIGKILL \(stopped by the host\)$/),
      expect.stringMatching(/^ended .*SIGKILL \(stopped by the host\)$/),
      "closed",
    ]);
  });

  test("a message is handed to its queue's worker; one whose worker dies stays, and the end is recorded", async () => {
    const { parts, notes } = fakeParts();
    await start({ parts });
    const state = readState();
    await send(state, "runs", "fine");
    await until(() => depthOf(state, "runs")).toEqual({ ready: 0, inflight: 0 });
    const [before] = workersOf("long-rites");
    await send(state, "long-rites", "exit 9");
    await until(() => notes).toContain(`ended ${before?.worker}: exit code 9`);
    await until(() => workersOf("long-rites").map((entry) => entry.pid)).not.toContain(before?.pid);
    await until(() => workersOf("long-rites")).toHaveLength(1);
    expect(await depthOf(state, "long-rites")).toEqual({ ready: 0, inflight: 1 });
    await send(state, "long-rites", "fine");
    await until(() => depthOf(state, "long-rites")).toEqual({ ready: 0, inflight: 1 });
  });

  test("a work that is under way may end before the host does", async () => {
    const gate = join(folder, "gate");
    const host = await start();
    const state = readState();
    await send(state, "runs", `wait-for ${gate}`);
    await until(() => existsSync(`${gate}.waiting`)).toBe(true);
    const stopped = host.stop();
    mkdirSync(gate);
    await stopped;
    await start();
    expect(await depthOf(readState(), "runs")).toEqual({ ready: 0, inflight: 0 });
  });

  test("a second host on the same folder is refused, and the first is not harmed", async () => {
    const host = await start();
    await expect(start()).rejects.toThrow(/uses the data folder/);
    expect((await fetch(host.state.apiUrl)).status).toBe(401);
    expect(existsSync(join(dataDir, "dev.json"))).toBe(true);
  });

  test("a port that was asked for and is taken is refused by name, and nothing is left", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    await expect(start({ port })).rejects.toMatchObject({
      message: expect.stringContaining(`port ${port} cannot be used`),
      fix: expect.stringContaining("--port"),
    });
    expect(existsSync(join(dataDir, "host.lock"))).toBe(false);
    expect(await postmasterOf(join(dataDir, "postgres"))).toBeUndefined();
    taken.close();
    const host = await start({ port });
    expect(host.state.apiUrl).toBe(`http://127.0.0.1:${port}`);
  });

  test("where no port was asked for and 4700 is taken, another one is used", async () => {
    const taken = createServer();
    // Where it cannot be listened on, somebody else has it.
    await new Promise<void>((resolve) => {
      taken.once("error", () => resolve());
      taken.listen(4700, "127.0.0.1", resolve);
    });
    const host = await start({ port: undefined });
    expect(new URL(host.state.apiUrl).port).not.toBe("4700");
    taken.close();
  });

  test.each([
    ["the configuration", { configPath: "/broken.config.ts" }, "the configuration is broken"],
    [
      "the judgement of the ledger",
      { parts: fakeParts({ judgement: { ...SOUND, refused: { count: 1, first: [] } } }).parts },
      "nothing is started",
    ],
    ["a migration", { parts: fakeParts({ migrationFails: true }).parts }, "no such table"],
    [
      "the handlers",
      { parts: { ...fakeParts().parts, handlers: "data:text/javascript,export{}" } },
      "could not start",
    ],
  ])("where %s fails, all that had started is ended", async (_, over, message) => {
    await expect(start(over)).rejects.toThrow(message);
    expect(readdirSync(dataDir).filter((name) => /^(dev.json|host.lock)/.test(name))).toEqual([]);
    expect(await postmasterOf(join(dataDir, "postgres"))).toBeUndefined();
  });

  test.each([
    ["postgres", "PostgreSQL ended: exit code 1"],
    ["postgres-keeper", "PostgreSQL ended: SIGKILL"],
    ["sqs", "the SQS server ended: SIGKILL"],
    ["api", "the API ended: SIGKILL"],
  ])("the end of %s is told", async (role, message) => {
    const host = await start();
    const { processes } = readState();
    process.kill(processes.find((entry) => entry.role === role)?.pid ?? 0, "SIGKILL");
    expect(await host.broken).toBe(message);
    await host.stop();
    for (const left of processes) if (left.role !== "host") expect(isAlive(left.pid), left.role).toBe(false);
  });

  test("a save is run without a request that is refused or cut off; where its API cannot start, the one before goes on", async () => {
    const configPath = join(folder, "saved.config.ts");
    writeFileSync(configPath, "first");
    const host = await start({ configPath, watch: true });
    const before = readState();
    const digest = () => readState().code?.workflows["hello@1"];
    await until(digest).toBe("first");
    const done = new AbortController();
    let answered = 0;
    const asking = ["keep-alive", "close"].map(async (connection) => {
      const headers = { connection };
      for (; !done.signal.aborted; answered += 1) {
        const response = await fetch(`${before.apiUrl}/v1/runs`, { method: "POST", body: "{}", headers });
        expect([response.status, await response.json()]).toMatchObject([401, { detail: "no such token" }]);
      }
    });
    const apis = new Set([pidOf(before, "api")]);
    for (const saved of ["second", "third", "fourth"]) {
      writeFileSync(configPath, saved);
      await until(digest).toBe(saved);
      apis.add(pidOf(readState(), "api"));
      const seen = answered;
      await until(() => answered).toBeGreaterThan(seen + 10);
    }
    expect(printed).toContain("host |   hello@1: first → second");
    expect(apis.size).toBe(4);
    writeFileSync(configPath, "deaf");
    await until(() => readState().code?.refused?.message).toBe("the API could not start: it is deaf");
    done.abort();
    await Promise.all(asking);
    const after = readState();
    expect(after.apiUrl).toBe(before.apiUrl);
    expect(apis).toContain(pidOf(after, "api"));
    await send(after, "runs", "fine");
    await until(() => depthOf(after, "runs")).toEqual({ ready: 0, inflight: 0 });
    for (const pid of apis) if (pid !== pidOf(after, "api")) expect(await untilGone(pid, 120_000)).toBe(true);
    await host.stop();
    for (const left of [...before.processes, ...after.processes])
      if (left.role !== "host") expect(isAlive(left.pid), left.role).toBe(false);
  });

  test("starts the project's services and buckets before the code is read, and functions find them and the API", async () => {
    const { parts } = fakeParts();
    const dev = {
      services: { signer: { module: fileURLToPath(new URL("./fake-service.support.ts", import.meta.url)) } },
      buckets: { RELEASES_BUCKET: "releases" },
    };
    const host = await start({
      configPath: "/some/beside.config.ts",
      parts: { ...parts, loadConfig: async () => ({ ...(await parts.loadConfig("/c")), dev }) },
    });
    const state = readState();
    const mark = join(folder, "environment");
    const seen = async () => {
      rmSync(mark, { force: true });
      await send(state, "runs", `write-environment ${mark}`);
      await until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "").toBe(true);
      return JSON.parse(readFileSync(mark, "utf8")) as Record<string, string>;
    };
    const environment = await seen();
    expect(environment).toMatchObject({ RELEASES_BUCKET: "releases", GHOULS_PUBLIC_URL: state.apiUrl });
    expect(state.s3Url).toBe(environment["AWS_ENDPOINT_URL"]);
    expect((await fetch(`${state.s3Url}/releases`)).status).toBe(200);
    const signer = environment["GHOULS_SERVICE_SIGNER_URL"] ?? "";
    const { pid } = (await (await fetch(signer)).json()) as { pid: number };
    expect(pidOf(state, "signer")).toBe(pid);
    process.kill(pid, "SIGKILL");
    await until(() => pidOf(readState(), "signer")).not.toBe(pid);
    await until(() => pidOf(readState(), "signer")).toBeGreaterThan(0);
    await host.stop();
    expect(isAlive(pidOf(state, "signer"))).toBe(false);
    expect(readdirSync(join(dataDir, "services")).toSorted()).toEqual(["ports.json", "signer"]);
  });

  test("leaves an address of the API that the user names to functions", async () => {
    const env = cleanEnv({ GHOULS_PUBLIC_URL: "https://tunnel.example" });
    await start({ env });
    const mark = join(folder, "named");
    await send(readState(), "runs", `write-environment ${mark}`);
    await until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "").toBe(true);
    expect(JSON.parse(readFileSync(mark, "utf8"))).toMatchObject({
      GHOULS_PUBLIC_URL: "https://tunnel.example",
    });
  });

  test("where a service cannot start, all that had started is ended", async () => {
    const { parts } = fakeParts();
    const dev = { services: { signer: { module: "/no/module.ts" } }, buckets: { A_BUCKET: "a-bucket" } };
    const loadConfig = async () => ({ ...(await parts.loadConfig("/c")), dev });
    await expect(start({ parts: { ...parts, loadConfig } })).rejects.toThrow(/signer has no module at/);
    expect(existsSync(join(dataDir, "host.lock"))).toBe(false);
    expect(await postmasterOf(join(dataDir, "postgres"))).toBeUndefined();
  });

  test("goes on where dev.json cannot be written, and says so", async () => {
    const host = await start();
    const [worker] = workersOf("runs");
    rmSync(join(dataDir, "dev.json"));
    mkdirSync(join(dataDir, "dev.json", "full"), { recursive: true });
    process.kill(worker?.pid ?? 0, "SIGKILL");
    await until(() => printed.join("\n")).toContain("dev.json cannot be written");
    expect((await fetch(host.state.apiUrl)).status).toBe(401);
    rmSync(join(dataDir, "dev.json"), { recursive: true });
  });

  test("is ended at once where that is asked", async () => {
    const host = await start();
    const { processes } = readState();
    host.kill();
    for (const { role, pid } of processes)
      if (role !== "host") expect(await untilGone(pid, 10_000), role).toBe(true);
  });

  test.runIf(process.getuid?.() === 0)("as root, a folder closed to PostgreSQL's user is named", async () => {
    const closed = join(folder, "closed");
    mkdirSync(closed, { mode: 0o700 });
    await expect(start({ dataDir: join(closed, "data") })).rejects.toThrow(`${closed} is closed to others`);
  });

  test("a database of one's own is used as it is, and nothing embedded starts for it", async () => {
    const { parts, notes } = fakeParts();
    await start({ parts, env: cleanEnv({ DATABASE_URL: "postgres://me@127.0.0.1/db" }) });
    expect(readState().databaseUrl).toBe("postgres://me@127.0.0.1/db");
    expect(readState().processes.some((entry) => entry.role.startsWith("postgres"))).toBe(false);
    expect(notes).toEqual([
      "keys of default operator, default submitter, default decider",
      "closed",
      'capacities {"gpu":1}',
    ]);
    expect(readState().migrationUrl).toBeUndefined();
    expect(printed.some((line) => line.includes("npx ghouls migrate"))).toBe(true);
  });

  test("a database of one's own is migrated with the migrator's URL, for the role of the other", async () => {
    const { parts, notes } = fakeParts();
    const env = {
      DATABASE_URL: "postgres://me@127.0.0.1/db",
      GHOULS_MIGRATION_DATABASE_URL: "postgres://owner@h/db",
    };
    await start({ parts, env: cleanEnv(env) });
    expect(notes[0]).toEqual("migrate ghouls as owner for me");
    // The user's own migrator's password stays where the user has put it.
    expect(readState().migrationUrl).toBeUndefined();
  });

  test.each(["words", "postgres://127.0.0.1/db"])(
    "a DATABASE_URL without a user is refused: %s",
    async (url) => {
      const env = { DATABASE_URL: url, GHOULS_MIGRATION_DATABASE_URL: "postgres://owner@h/db" };
      await expect(start({ env: cleanEnv(env) })).rejects.toMatchObject({ code: "configuration_invalid" });
    },
  );
});

test("an older Node is refused by name", () => {
  expect(() => checkNode("20.20.0")).toThrow(/Node 24 is needed, and this is Node 20.20.0/);
  checkNode("24.0.0");
  checkNode("26.1.0");
});
