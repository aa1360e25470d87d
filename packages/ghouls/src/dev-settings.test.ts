import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GhoulsError } from "@ghouls/core";
import { expect, onTestFinished, test } from "vitest";
import { defineConfig } from "./config.ts";
import { loadConfig } from "./load-config.ts";

function refusal(dev: unknown): GhoulsError {
  try {
    defineConfig({ workflows: [], dev } as never);
  } catch (error) {
    if (error instanceof GhoulsError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

test("a project has nothing beside it where nothing is said", () => {
  expect(defineConfig({ workflows: [] }).dev).toEqual({ services: {}, buckets: {} });
});

test("services and buckets are taken as they are written", () => {
  const dev = { services: { "my-signer": { module: "./signer.ts" } }, buckets: { A_BUCKET: "a-1" } };
  expect(defineConfig({ workflows: [], dev }).dev).toEqual(dev);
});

test.each([
  ["a service without a module", { services: { signer: {} } }, "/dev/services/signer/module"],
  [
    "a module that is none",
    { services: { signer: { module: "npm run signer" } } },
    "/dev/services/signer/module",
  ],
  [
    "a setting that does not exist",
    { services: { signer: { module: "./a.ts", port: 1 } } },
    "/dev/services/signer",
  ],
  [
    "a name that no variable can have",
    { services: { "My Signer": { module: "./a.ts" } } },
    "/dev/services/My Signer",
  ],
  [
    "the name of a process of the host",
    { services: { worker: { module: "./a.ts" } } },
    "/dev/services/worker",
  ],
  ["a variable of a bad name", { buckets: { "uploads bucket": "uploads" } }, "/dev/buckets/uploads bucket"],
  ["a variable that means something else", { buckets: { AWS_REGION: "uploads" } }, "/dev/buckets/AWS_REGION"],
  ["a bucket that S3 would not take", { buckets: { A_BUCKET: "Uploads" } }, "/dev/buckets/A_BUCKET"],
  ["something else to run", { functions: {} }, "/dev"],
])("%s is refused by path, with what to write", (_, dev, path) => {
  const refused = refusal(dev);
  expect(refused.code).toBe("configuration_invalid");
  expect(refused.issues?.map((issue) => issue.path)).toContain(path);
  expect(refused.fix).toContain(path.slice(1).replaceAll("/", "."));
});

test("a module is found beside the configuration, wherever the command is given", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-beside-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(
    fileURLToPath(new URL("../../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const file = join(folder, "ghouls.config.ts");
  await writeFile(
    file,
    `import { defineConfig } from "ghouls";
     export default defineConfig({ workflows: [], dev: { services: { signer: { module: "./src/signer.ts" } } } });`,
  );
  expect((await loadConfig(file)).dev).toEqual({
    services: { signer: { module: join(folder, "src/signer.ts") } },
    buckets: {},
  });
});
