import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startGhouls } from "@ghouls/testing";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import config from "../ghouls.config.ts";
import { hello } from "./hello.ts";
import { lockfileText, temporaryFolder } from "./release-gate/fixtures.ts";
import { releaseGate } from "./release-gate/release-gate.ts";

const ghouls = await startGhouls({ config });
afterAll(() => ghouls.stop());
afterEach(async () => {
  vi.unstubAllEnvs();
  await ghouls.reset();
});

test("hello greets, through the ledger and the engine", async () => {
  const run = await ghouls.submit(hello, { name: "Ghouls" });
  expect(await run.result()).toEqual({ greeting: "Good evening, Ghouls." });
  expect(await run.steps()).toMatchObject([{ kind: "step", name: "greet", outcome: "ok" }]);
});

test("release-gate that loses its worker in the middle gives its verdict all the same, each step journaled once; what is refused is signed by nobody", async () => {
  const folder = await temporaryFolder();
  const [lockfile, output] = [join(folder, "package-lock.json"), join(folder, "out")];
  await mkdir(output);
  const integrity = `sha512-${createHash("sha512").update("one").digest("base64")}`;
  const entry = { version: "1.0.0", license: "GPL-3.0", integrity };
  await writeFile(lockfile, lockfileText({ "node_modules/one": entry }));
  vi.stubEnv("npm_config_cache", folder);
  vi.stubEnv("RELEASES_BUCKET", "releases");
  const run = await ghouls.submit(releaseGate, { lockfile, output, questions: "policy" });
  run.crashAfter("judge licences");
  expect(await run.result()).toMatchObject({
    decision: "REFUSED",
    components: 1,
    signature: null,
    published: null,
  });
  expect((await run.steps()).map(({ name }) => name)).toEqual([
    "read lockfile",
    "judge licences",
    "verify packages 1 to 1 of 1",
    "write bom",
    "write verdict",
  ]);
  expect(await run.view()).toMatchObject({ queue: "rites" });
});
