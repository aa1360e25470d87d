import { EventEmitter } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { isAlive, untilGone } from "ghouls/processes/alive";
import { startChild } from "ghouls/processes/child";
import type { DevSurroundings } from "./dev.ts";
import { runDev } from "./dev.ts";
import { cleanEnv, fakeParts } from "./fake-parts.support.ts";
import { loadConfig } from "./fake-handlers.support.ts";
import { openLog } from "./log.ts";
import type { DevState } from "./state.ts";
import { until } from "./until.support.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-dev-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const dataDir = join(folder, "data");
const stateFile = join(dataDir, "dev.json");
const readState = (): DevState => JSON.parse(readFileSync(stateFile, "utf8")) as DevState;

function surroundings(over: Partial<DevSurroundings> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const signals = new EventEmitter();
  const { parts, notes } = fakeParts();
  const exits: number[] = [];
  const now = { ms: 0, parent: 7 };
  const around: DevSurroundings = {
    env: cleanEnv(),
    nodeVersion: "24.1.0",
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    parts: () => Promise.resolve(parts),
    signals,
    exit: (code) => void exits.push(code),
    monotonicMs: () => now.ms,
    parentPid: () => now.parent,
    ...over,
  };
  return { around, out, err, signals, parts, notes, exits, now };
}

const options = { config: "/some/ghouls.config.ts", dataDir, port: 0, once: false };

describe("ghouls dev", () => {
  test("with --once carries the examples, ends with one line for programs, and leaves nothing", async () => {
    const { around, out, signals } = surroundings();
    expect(await runDev({ ...options, once: true }, around)).toBe(0);
    expect(JSON.parse(out.at(-1) ?? "")).toEqual({
      ok: true,
      runs: [
        { runId: "run-1", workflow: "hello", status: "DONE", enqueueSeq: 1, steps: 2 },
        { runId: "run-2", workflow: "release-gate", status: "DONE", enqueueSeq: 1, steps: 2 },
      ],
    });
    expect(out.length).toBeGreaterThan(6);
    expect(existsSync(stateFile)).toBe(false);
    expect(signals.eventNames()).toEqual([]);
  });

  test("with --once exits with 1 where a run does not end DONE, or cannot be submitted", async () => {
    const examples = [{ workflow: "gate", input: { outcome: "FAILED" } }];
    const { around, out, parts } = surroundings();
    const failing = {
      ...parts,
      loadConfig: async (path: string) => ({ ...(await loadConfig(path)), examples }),
    };
    expect(
      await runDev({ ...options, once: true }, { ...around, parts: () => Promise.resolve(failing) }),
    ).toBe(1);
    expect(JSON.parse(out.at(-1) ?? "")).toMatchObject({ ok: false, runs: [{ status: "FAILED" }] });
    const refused = surroundings();
    const unserialisable = [{ workflow: "gate", input: 1n }];
    const odd = {
      ...parts,
      loadConfig: async (path: string) => ({ ...(await loadConfig(path)), examples: unserialisable }),
    };
    expect(
      await runDev({ ...options, once: true }, { ...refused.around, parts: () => Promise.resolve(odd) }),
    ).toBe(1);
    expect(refused.err.join("\n")).toContain("BigInt");
  });

  test("stays up, says what to try, and ends at a signal with 0", async () => {
    const { around, out, err, signals } = surroundings();
    const running = runDev(options, around);
    await until(() => out.join("\n")).toContain("Ghouls is up.");
    const { apiUrl, processes, tokens } = readState();
    const text = out.join("\n");
    expect(text).toContain(`npx ghouls submit hello --input '{"name":"a"}' --data-dir ${dataDir}`);
    expect(text).toContain(`curl -X POST ${apiUrl}/v1/runs`);
    expect(text).not.toContain(tokens.submitter);
    signals.emit("SIGINT");
    expect(await running).toBe(0);
    expect(err).toContain("ending; once more to end at once");
    for (const { role, pid } of processes) if (role !== "host") expect(isAlive(pid), role).toBe(false);
    expect(existsSync(stateFile)).toBe(false);
  });

  test("under npm it ends with the shell that npm has put in between", async () => {
    const { around, out, now } = surroundings({ env: cleanEnv({ npm_lifecycle_event: "start" }) });
    const running = runDev(options, around);
    await until(() => out.join("\n")).toContain("Ghouls is up.");
    now.parent = 1;
    expect(await running).toBe(0);
    expect(existsSync(stateFile)).toBe(false);
  });

  test("a second signal ends it at once", async () => {
    const { around, out, signals, now } = surroundings();
    const running = runDev(options, around);
    await until(() => out.join("\n")).toContain("Ghouls is up.");
    const { processes } = readState();
    signals.emit("SIGTERM");
    now.ms = 500;
    signals.emit("SIGTERM");
    expect(await running).toBe(0);
    for (const { role, pid } of processes)
      if (role !== "host") expect(await untilGone(pid, 10_000), role).toBe(true);
    expect(existsSync(stateFile)).toBe(false);
  });

  test("a signal during the start ends it when it stands, a second one at once", async () => {
    const { around, out, signals, exits, now } = surroundings();
    const running = runDev(options, around);
    signals.emit("SIGINT");
    // npm passes the same Ctrl-C on.
    now.ms = 499;
    signals.emit("SIGINT");
    expect(exits).toEqual([]);
    now.ms = 500;
    signals.emit("SIGINT");
    expect(exits).toEqual([130]);
    expect(await running).toBe(0);
    expect(out).toEqual([]);
    expect(existsSync(stateFile)).toBe(false);
  });

  test("a signal while it carries the examples ends it with 1", async () => {
    const examples = [{ workflow: "gate", input: { outcome: "RUNNING" } }];
    const { around, out, err, signals, parts } = surroundings();
    const endless = {
      ...parts,
      loadConfig: async (path: string) => ({ ...(await loadConfig(path)), examples }),
    };
    const running = runDev({ ...options, once: true }, { ...around, parts: () => Promise.resolve(endless) });
    await until(() => out.join("\n")).toContain("RUNNING");
    signals.emit("SIGINT");
    expect(await running).toBe(1);
    expect(err.at(-1)).toMatch(/^interrupted; the log is /);
  });

  test.each([false, true])(
    "a part that ends unasked ends it with 1 and a reason (once: %s)",
    async (once) => {
      const examples = [{ workflow: "gate", input: { outcome: "RUNNING" } }];
      const { around, err, parts } = surroundings();
      const endless = {
        ...parts,
        loadConfig: async (path: string) => ({ ...(await loadConfig(path)), examples }),
      };
      const running = runDev({ ...options, once }, { ...around, parts: () => Promise.resolve(endless) });
      await until(() => existsSync(stateFile)).toBe(true);
      process.kill(readState().processes.find((entry) => entry.role === "sqs")?.pid ?? 0, "SIGKILL");
      expect(await running).toBe(1);
      expect(err.join("\n")).toContain("the SQS server ended: SIGKILL; the log is ");
    },
  );

  test("a failure is told with its fix, and exits with 1", async () => {
    const old = surroundings({ nodeVersion: "20.1.0" });
    expect(await runDev(options, old.around)).toBe(1);
    expect(old.err).toEqual([
      expect.stringContaining("Node 24 is needed"),
      expect.stringContaining("Install Node 24"),
    ]);
    const broken = surroundings();
    expect(await runDev({ ...options, config: "/broken.config.ts" }, broken.around)).toBe(1);
    expect(broken.err.join("\n")).toContain("the configuration is broken");
    const odd = surroundings({ parts: () => Promise.reject("words" as unknown as Error) });
    expect(await runDev(options, odd.around)).toBe(1);
    expect(odd.err).toEqual(["words"]);
  });

  test("after its own SIGKILL nothing of it lives on, and the next start repairs what it left", async () => {
    const log = openLog(join(folder, "log"), () => undefined);
    const child = startChild({
      source: "host",
      entry: new URL("./dev-host.support.ts", import.meta.url),
      args: [dataDir],
      env: cleanEnv(),
      log,
    });
    await until(() => existsSync(stateFile)).toBe(true);
    const { processes } = readState();
    expect(processes.find((entry) => entry.role === "host")?.pid).toBe(child.pid);
    child.kill("SIGKILL");
    for (const { role, pid } of processes) expect(await untilGone(pid, 15_000), role).toBe(true);
    expect(existsSync(stateFile)).toBe(true);
    const { around, notes } = surroundings();
    expect(await runDev({ ...options, config: "/broken.config.ts" }, around)).toBe(1);
    expect(existsSync(stateFile)).toBe(false);
    expect(await runDev({ ...options, once: true }, around)).toBe(0);
    const ours = processes.filter((entry) => entry.role === "worker").map((entry) => entry.worker);
    for (const worker of ours) expect(notes).toContain(`ended ${worker}: its host ended`);
    expect(existsSync(stateFile)).toBe(false);
    await log.close();
  });
});
