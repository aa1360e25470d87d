import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serverFolder } from "./folder.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "ghouls-base-"));
});
afterEach(() => {
  rmSync(base, { recursive: true });
});

/** The id of a process that has ended. */
const gone = () => spawnSync(process.execPath, ["--eval", ""]).pid;

test("a folder belongs to the process that made it, and stays while that is there", () => {
  const mine = serverFolder("crash", base);
  expect(basename(mine)).toMatch(new RegExp(`^ghouls-crash-${process.pid}-`));
  // The first process of all is somebody else's.
  mkdirSync(join(base, "ghouls-test-1-abc"));
  mkdirSync(join(base, `another-${gone()}-abc`));
  const before = readdirSync(base);
  const next = serverFolder("test", base);
  expect(readdirSync(base).toSorted()).toEqual([...before, basename(next)].toSorted());
});

test("what a killed run has left is taken away, with the server that still works there", async () => {
  const left = join(base, `ghouls-test-${gone()}-abc`);
  mkdirSync(join(left, "data"), { recursive: true });
  const server = spawn(process.execPath, ["--eval", "setInterval(() => undefined, 1_000)", left]);
  const ended = new Promise((resolve) => server.once("exit", (_code, signal) => resolve(signal)));
  await new Promise((resolve) => server.once("spawn", resolve));
  writeFileSync(join(left, "data/postmaster.pid"), `${server.pid}\n${left}/data\n`);
  serverFolder("test", base);
  expect(await ended).toBe("SIGKILL");
  expect(existsSync(left)).toBe(false);
});

test("no process is ended for a number that it has got since: only one that names the folder is its server", () => {
  const left = join(base, `ghouls-test-${gone()}-abc`);
  mkdirSync(join(left, "data"), { recursive: true });
  writeFileSync(join(left, "data/postmaster.pid"), `${process.pid}\n`);
  chmodSync(left, 0o755);
  serverFolder("test", base);
  expect(existsSync(left)).toBe(false);
});
