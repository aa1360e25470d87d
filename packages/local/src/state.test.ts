import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { sha256 } from "@ghouls/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commandOf } from "ghouls/processes/alive";
import { readIfThere, writeAtomically } from "ghouls/processes/files";
import { lockDataDir } from "./lock.ts";
import { openLog, rotate } from "./log.ts";
import { loadPasswords } from "./secrets.ts";
import type { DevState } from "./state.ts";
import { forgetLeftBehind, openStateFile, stateFileOf, keepLeftBehind, takeLeftBehind } from "./state.ts";
import { until } from "./until.support.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ghouls-state-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const state = (pid: number): DevState => ({
  apiUrl: "http://127.0.0.1:1",
  databaseUrl: "postgres://x",
  databaseSchema: "ghouls",
  dynamodbUrl: "http://127.0.0.1:2",
  tokens: { operator: "o", submitter: "s", decider: "d" },
  processes: [{ role: "worker", pid, worker: "runs-1", queue: "runs" }],
});

describe("files", () => {
  test("are replaced whole, readable by their owner only, and leave no draft", async () => {
    const file = join(folder, "f");
    await writeAtomically(file, "one");
    await writeAtomically(file, "two");
    expect(readFileSync(file, "utf8")).toBe("two");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["f"]);
  });

  test("that cannot be put in place leave no draft either", async () => {
    const file = join(folder, "directory");
    mkdirSync(join(file, "full"), { recursive: true });
    await expect(writeAtomically(file, "x")).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(["directory"]);
  });

  test("that are not there read as undefined; what is no file is an error", async () => {
    expect(await readIfThere(join(folder, "none"))).toBeUndefined();
    await expect(readIfThere(folder)).rejects.toThrow(/EISDIR/);
  });
});

describe("dev.json", () => {
  test("holds the latest state, and is gone after removal, whatever was still being written", async () => {
    const file = openStateFile(folder);
    await Promise.all([file.write(state(1)), file.write(state(2)), file.write(state(3))]);
    expect(JSON.parse(readFileSync(stateFileOf(folder), "utf8"))).toEqual(state(3));
    const late = file.write(state(4));
    file.remove();
    await late;
    await file.write(state(5));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("that cannot be written rejects, and the next write is tried", async () => {
    const missing = join(folder, "later");
    const file = openStateFile(missing);
    await expect(file.write(state(1))).rejects.toThrow(/ENOENT/);
    mkdirSync(missing);
    await file.write(state(2));
    expect(existsSync(stateFileOf(missing))).toBe(true);
  });

  test("left behind is moved aside, and tells its processes until it is forgotten", async () => {
    expect(await takeLeftBehind(folder)).toEqual([]);
    const { processes } = state(7);
    writeFileSync(
      stateFileOf(folder),
      JSON.stringify({ processes: [...processes, { pid: 1 }, { role: "x" }] }),
    );
    expect(await takeLeftBehind(folder)).toEqual(processes);
    expect(existsSync(stateFileOf(folder))).toBe(false);
    expect(await takeLeftBehind(folder)).toEqual(processes);
    await forgetLeftBehind(folder);
    expect(await takeLeftBehind(folder)).toEqual([]);
  });

  test("workers whose end the ledger has not heard of are left to the next start, without a process to look for", async () => {
    await keepLeftBehind(folder, []);
    expect(await takeLeftBehind(folder)).toEqual([]);
    await keepLeftBehind(folder, ["runs-1"]);
    expect(await takeLeftBehind(folder)).toEqual([{ role: "worker", pid: 0, worker: "runs-1" }]);
    await forgetLeftBehind(folder);
    expect(await takeLeftBehind(folder)).toEqual([]);
  });

  test.each(["{", "null", "{}"])("left behind that cannot be read tells none: %s", async (text) => {
    writeFileSync(stateFileOf(folder), text);
    expect(await takeLeftBehind(folder)).toEqual([]);
    expect(existsSync(stateFileOf(folder))).toBe(false);
  });
});

describe("the lock of a data folder", () => {
  const lockFile = (): string => join(folder, "host.lock");

  test("is refused to a second host while the first lives, and free after its release", async () => {
    const lock = await lockDataDir(folder);
    await expect(lockDataDir(folder)).rejects.toMatchObject({
      message: expect.stringContaining(`(process ${process.pid}) uses the data folder`),
      fix: expect.stringContaining("--data-dir"),
    });
    await lock.release();
    await (await lockDataDir(folder)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is taken over from a host that is gone, and where its number went to another program", async () => {
    const gone = spawn(process.execPath, ["-e", ""]);
    await once(gone, "exit");
    for (const stale of [
      JSON.stringify({ pid: gone.pid, command: "x" }),
      JSON.stringify({ pid: process.pid, command: "another program" }),
      JSON.stringify({ pid: "1" }),
      "not JSON",
    ]) {
      writeFileSync(lockFile(), stale);
      await (await lockDataDir(folder)).release();
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("goes to one of many that find it stale at the same time", async () => {
    writeFileSync(lockFile(), "stale");
    writeFileSync(`${lockFile()}.takeover-${sha256("stale").slice(0, 16)}`, "left by one that was killed");
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(folder)));
    const winners = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(winners).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(["host.lock"]);
    await winners[0]?.release();
  });

  test("of another host is not released", async () => {
    const lock = await lockDataDir(folder);
    const other = JSON.stringify({ pid: 1, command: await commandOf(1) });
    writeFileSync(lockFile(), other);
    await lock.release();
    expect(readFileSync(lockFile(), "utf8")).toBe(other);
  });

  test("needs a folder", async () => {
    await expect(lockDataDir(join(folder, "none"))).rejects.toThrow(/ENOENT/);
  });
});

describe("passwords", () => {
  test("are made once, differ, and are kept for their owner only", async () => {
    const first = await loadPasswords(folder);
    expect(await loadPasswords(folder)).toEqual(first);
    expect(new Set(Object.values(first)).size).toBe(3);
    for (const password of Object.values(first)) expect(password).toMatch(/^[\w-]{32}$/);
    expect(statSync(join(folder, "passwords.json")).mode & 0o777).toBe(0o600);
  });

  test("that cannot be read are an error that says so, and are not replaced", async () => {
    for (const bad of ["{", "null", '{"superuser":"x"}']) {
      writeFileSync(join(folder, "passwords.json"), bad);
      await expect(loadPasswords(folder)).rejects.toMatchObject({ code: "configuration_invalid" });
      expect(readFileSync(join(folder, "passwords.json"), "utf8")).toBe(bad);
    }
  });
});

describe("the log", () => {
  test("appends lines to its file and shows them", async () => {
    const shown: string[] = [];
    const file = join(folder, "log");
    for (const text of ["one", "two\u0007\r\nthree"]) {
      const log = openLog(file, (line) => shown.push(line));
      log.line("host", text);
      await log.close();
      log.line("host", "late");
    }
    expect(shown).toEqual(["host | one", "host | late", "host | two???three", "host | late"]);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    expect(lines.map((line) => line.replace(/^\S+Z /, ""))).toEqual(["host | one", "host | two???three"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("that has grown too large is moved aside", async () => {
    const file = join(folder, "log");
    await rotate(file, 3);
    writeFileSync(file, "123");
    await rotate(file, 3);
    expect(readdirSync(folder)).toEqual(["log"]);
    writeFileSync(file, "1234");
    await rotate(file, 3);
    expect(readdirSync(folder)).toEqual(["log.1"]);
  });

  test("whose file cannot be written says so, and goes on without", async () => {
    const shown: string[] = [];
    const log = openLog(join(folder, "no", "log"), (line) => shown.push(line));
    await until(() => shown.join("")).toContain("cannot be written");
    log.line("host", "still here");
    expect(shown).toContain("host | still here");
    await log.close();
    chmodSync(folder, 0o700);
  });
});
