import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { untilGone } from "ghouls/processes/alive";
import { startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { Environment } from "./environment.ts";
import { startEnvironment } from "./environment.ts";
import { settledWithin } from "ghouls/processes/settled";
import { createFunction } from "./function.ts";
import { openLog } from "./log.ts";
import type { HostLog } from "./log.ts";
import { until } from "./until.support.ts";

// Real processes on a machine that may be busy.

const HANDLERS = new URL("./fake-handlers.support.ts", import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), "ghouls-environment-"));
const lines: string[] = [];
let log: HostLog;
const started: Environment[] = [];

beforeAll(() => {
  log = openLog(join(folder, "log"), (line) => lines.push(line));
});
afterEach(async () => {
  for (const environment of started) environment.kill();
  await Promise.all(started.splice(0).map((environment) => environment.ended));
});
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

let count = 0;
function environment(
  over: { timeoutMs?: number; args?: readonly string[]; initTimeoutMs?: number; inspect?: number } = {},
): Environment {
  const one = startEnvironment({
    worker: `runs-${(count += 1)}`,
    entry: entryPoint("function"),
    args: over.args ?? [HANDLERS, "createWorker", "/some/ghouls.config.ts"],
    env: process.env,
    log,
    timeoutMs: over.timeoutMs ?? 20_000,
    initTimeoutMs: over.initTimeoutMs ?? 20_000,
    ...(over.inspect === undefined ? {} : { inspect: over.inspect }),
  });
  started.push(one);
  return one;
}

describe("an execution environment", () => {
  test("loads the handler once, stays warm, and knows its identity, its configuration and its time", async () => {
    const one = environment();
    await one.ready;
    const first = await one.invoke("echo");
    const second = await one.invoke("echo");
    const common = { worker: one.worker, config: "/some/ghouls.config.ts", secret: null };
    expect(first).toEqual({
      ok: true,
      value: { ...common, invocations: 1, remainingMs: expect.any(Number) },
    });
    expect(second).toEqual({
      ok: true,
      value: { ...common, invocations: 2, remainingMs: expect.any(Number) },
    });
    const { remainingMs } = (first as unknown as { value: { remainingMs: number } }).value;
    expect(remainingMs).toBeGreaterThan(10_000);
    expect(remainingMs).toBeLessThanOrEqual(20_000);
  });

  test("an answer of nothing is null, and one without JSON is a failed invocation that leaves it alive", async () => {
    const one = environment();
    await one.ready;
    expect(await one.invoke("nothing")).toEqual({ ok: true, value: null });
    expect(await one.invoke("circular")).toMatchObject({
      ok: false,
      reason: expect.stringContaining("BigInt"),
    });
    expect(await one.invoke("throw")).toEqual({ ok: false, reason: "RangeError: out of range" });
    expect(await one.invoke("throw-text")).toEqual({ ok: false, reason: "text" });
    expect(one.alive()).toBe(true);
  });

  test("a process that exits in the middle is a failed invocation, and tells how it ended", async () => {
    const one = environment();
    await one.ready;
    expect(await one.invoke("exit 3")).toEqual({ ok: false, reason: "the process ended: exit code 3" });
    expect(await one.ended).toBe("exit code 3");
    expect(one.alive()).toBe(false);
    expect(await one.invoke("echo")).toEqual({ ok: false, reason: "the process ended: exit code 3" });
  });

  test("a process that is killed from outside is a failed invocation too", async () => {
    const one = environment();
    await one.ready;
    const invocation = one.invoke("hang");
    process.kill(one.pid, "SIGKILL");
    expect(await invocation).toEqual({ ok: false, reason: "the process ended: SIGKILL" });
  });

  test("at the function's timeout it is killed, also while its loop is blocked", async () => {
    const one = environment({ timeoutMs: 300 });
    await one.ready;
    const how = "SIGKILL (timeout after 300 ms)";
    expect(await one.invoke(`block ${join(folder, "blocked")}`)).toEqual({
      ok: false,
      reason: `the process ended: ${how}`,
    });
    expect(await one.ended).toBe(how);
  });

  test("code that cannot be loaded, or takes too long to, is told", async () => {
    const missing = environment({ args: [HANDLERS, "createNothing", "/c"] });
    await expect(missing.ready).rejects.toThrow(/does not export loadConfig and createNothing/);
    const broken = environment({ args: [HANDLERS, "createWorker", "/broken.config.ts"] });
    await expect(broken.ready).rejects.toThrow("the configuration is broken");
    const slow = environment({ initTimeoutMs: 1 });
    await expect(slow.ready).rejects.toThrow(/ended before it was ready: SIGKILL/);
    expect(await slow.ended).toBe("SIGKILL (its start took too long)");
  });

  test("what it prints is in the log, under its name, without control characters", async () => {
    const one = environment();
    await one.ready;
    await one.invoke("print");
    one.kill();
    await until(() => lines).toContain(`${one.worker} | a line`);
    await until(() => lines).toContain(`${one.worker} | an error ?[31mline`);
    expect(await one.ended).toBe("SIGKILL (stopped by the host)");
  });
});

describe("an environment with an inspector", () => {
  test("is not killed for its time, and hides from its code that it runs out", async () => {
    const one = environment({ inspect: 0, timeoutMs: 1, initTimeoutMs: 1 });
    await one.ready;
    await until(() => one.inspector()).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\//);
    const gate = join(folder, "gate-of-the-inspected");
    const invocation = one.invoke(`wait-for ${gate}`);
    await until(() => existsSync(`${gate}.waiting`)).toBe(true);
    expect(one.busy()).toBe(true);
    writeFileSync(gate, "");
    expect(await invocation).toEqual({ ok: true, value: {} });
    expect(one.busy()).toBe(false);
    const answer = (await one.invoke("echo")) as unknown as { value: { remainingMs: number } };
    expect(answer.value.remainingMs).toBeGreaterThan(1_000_000_000);
  });

  test("gets the port of the one before it when that has ended", async () => {
    const before = environment({ inspect: 0 });
    await until(() => before.inspector()).toBeDefined();
    const port = Number(new URL(before.inspector() ?? "").port);
    const next = environment({ inspect: port });
    await next.ready;
    await until(() => lines.some((line) => line.includes(`127.0.0.1:${port} failed`))).toBe(true);
    expect(next.inspector()).toBeUndefined();
    before.kill();
    await until(() => next.inspector()).toContain(`127.0.0.1:${port}/`);
  });
});

describe("a function", () => {
  function deployed(single = false) {
    const ends: [string, string][] = [];
    const starts: string[] = [];
    const fn = createFunction({
      single,
      start: () => environment(),
      onStart: (one) => starts.push(one.worker),
      onEnd: (one, how) => ends.push([one.worker, how]),
    });
    return { fn, ends, starts };
  }

  test("keeps an environment warm, adds one when all are busy, and replaces one that died", async () => {
    const { fn, ends, starts } = deployed();
    await fn.warm();
    const [first] = fn.environments();
    expect(await fn.invoke("echo")).toMatchObject({ value: { worker: first?.worker } });
    const gate = join(folder, "gate");
    const [busy, other] = [fn.invoke(`wait-for ${gate}`), fn.invoke("echo")];
    expect(await other).toMatchObject({ ok: true });
    expect(fn.environments()).toHaveLength(2);
    const [, second] = fn.environments();
    expect(await fn.invoke("exit 1")).toMatchObject({ ok: false });
    await until(() => ends).toEqual([[second?.worker, "exit code 1"]]);
    expect(await fn.invoke("echo")).toMatchObject({ ok: true, value: { invocations: 1 } });
    writeFileSync(gate, "");
    expect(await busy).toEqual({ ok: true, value: {} });
    expect(starts).toHaveLength(3);
    await fn.close(0);
    expect(ends).toHaveLength(3);
    expect(fn.environments()).toEqual([]);
  });

  test("of which there is one only serves one invocation after the other", async () => {
    const { fn, starts } = deployed(true);
    await fn.warm();
    const gate = join(folder, "gate-of-the-single");
    const [first, second] = [fn.invoke(`wait-for ${gate}`), fn.invoke("echo")];
    await until(() => existsSync(`${gate}.waiting`)).toBe(true);
    expect(starts).toHaveLength(1);
    writeFileSync(gate, "");
    expect(await first).toEqual({ ok: true, value: {} });
    expect(await second).toMatchObject({ value: { invocations: 2 } });
    expect(await fn.invoke("exit 1")).toMatchObject({ ok: false });
    expect(await fn.invoke("echo")).toMatchObject({ value: { invocations: 1 } });
    await fn.close(0);
    expect(starts).toHaveLength(2);
  });

  test("one that dies while it idles is not used again, and the last one is replaced unasked", async () => {
    const { fn, ends, starts } = deployed();
    await fn.warm();
    process.kill(fn.environments()[0]?.pid ?? 0, "SIGKILL");
    await until(() => ends).toHaveLength(1);
    await until(() => starts).toHaveLength(2);
    expect(await fn.invoke("echo")).toMatchObject({ ok: true, value: { invocations: 1 } });
    await fn.close(0);
    await expect(fn.warm()).resolves.toBeUndefined();
    expect(fn.environments()).toEqual([]);
  });

  test("an environment that cannot start fails the invocation and the warm-up", async () => {
    let starts = 0;
    const fn = createFunction({
      start: () => environment({ args: [HANDLERS, "createWorker", "/broken.config.ts"] }),
      onStart: () => (starts += 1),
      onEnd: () => undefined,
    });
    expect(await fn.invoke("echo")).toMatchObject({ ok: false, reason: expect.stringContaining("broken") });
    await expect(fn.warm()).rejects.toThrow("broken");
    await fn.close(0);
    expect(starts).toBe(2);
  });

  test("closing waits for what is under way, within its bound, and kills the rest", async () => {
    const { fn } = deployed();
    await fn.warm();
    const hanging = fn.invoke("hang");
    await fn.close(50);
    expect(await hanging).toEqual({ ok: false, reason: "the process ended: SIGKILL (stopped by the host)" });
  });
});

test("a process that cannot be started has ended", async () => {
  const node = process.execPath;
  process.execPath = "/nowhere/node";
  const child = startChild({ source: "x", entry: entryPoint("function"), env: process.env, log });
  process.execPath = node;
  await expect(untilReady(child, "it")).rejects.toThrow("it ended before it was ready: exit code -1");
  expect(child.send({ type: "anything" })).toBe(false);
});

test("waiting for others is bounded, and over at once where there is nothing to wait for", async () => {
  await settledWithin([], 1_000_000);
  await settledWithin([Promise.reject(new Error("counts as settled"))], 1_000_000);
  await settledWithin([new Promise(() => undefined)], 10);
});

describe("when the host is killed", () => {
  test("its processes end, also one whose loop is blocked", async () => {
    const marks = [join(folder, "idle"), join(folder, "busy")] as const;
    const host = startChild({
      source: "host",
      entry: new URL("./orphan-host.support.ts", import.meta.url),
      args: [HANDLERS, ...marks],
      env: process.env,
      log,
    });
    await untilReady(host, "the stand-in");
    await until(() => marks.every((mark) => existsSync(mark) && readFileSync(mark, "utf8") !== "")).toBe(
      true,
    );
    host.kill("SIGKILL");
    for (const mark of marks) expect(await untilGone(Number(readFileSync(mark, "utf8")), 10_000)).toBe(true);
  });
});
