import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readStack, removeStackFile, writeStack } from "./stack-file.ts";
import { up } from "./stack.ts";

const folder = await mkdtemp(join(tmpdir(), "ghouls-stack-"));
afterAll(() => rm(folder, { recursive: true }));
const STATE = { endpoint: "http://127.0.0.1:1", stage: "local", secrets: ["s"], made: [] };

test("a stack is read as it was written, and is none once its file has gone", async () => {
  const file = join(folder, "deep", "stack.json");
  expect(await readStack(file)).toBeUndefined();
  await writeStack(file, STATE);
  expect(await readStack(file)).toEqual(STATE);
  await removeStackFile(file);
  expect(await readStack(file)).toBeUndefined();
});

test("a file that says something else is refused, not overwritten", async () => {
  const file = join(folder, "other.json");
  await writeFile(file, "[]");
  await expect(readStack(file)).rejects.toThrow("does not say what a deploy has made");
});

test("a folder in the place of the file is said as what it is", async () => {
  await expect(readStack(folder)).rejects.toThrow("EISDIR");
});

test("a stack that stands at another endpoint is not mixed with this one", async () => {
  const stateFile = join(folder, "elsewhere.json");
  await writeStack(stateFile, STATE);
  const options = {
    root: folder,
    stage: "local",
    endpoint: "http://127.0.0.1:2",
    region: "us-east-1",
    stateFile,
  };
  await expect(up({ ...options, databaseUrl: "a", migrationDatabaseUrl: "b" })).rejects.toThrow(
    "still stands at http://127.0.0.1:1",
  );
});
