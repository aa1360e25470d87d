import { fileURLToPath } from "node:url";
import { digestManifest } from "ghouls";
import { expect, test } from "vitest";
import config from "../../packages/workflows/ghouls.config.ts";
import { workflowsOf } from "@ghouls/functions";

const path = fileURLToPath(new URL("../../packages/workflows/ghouls.config.ts", import.meta.url));

test("the workflows of a configuration have the digests that a bundle of it gets", async () => {
  const workflows = await workflowsOf(path);
  expect(Object.fromEntries(workflows.map((one) => [`${one.name}@${one.version}`, one.digest]))).toEqual(
    await digestManifest(config),
  );
  expect(workflows).toContainEqual(
    expect.objectContaining({ name: "hello", version: 1, accepts: [], onWorkerLoss: "resume" }),
  );
});

test("a configuration that is not there is refused", async () => {
  await expect(workflowsOf("/nowhere/ghouls.config.ts")).rejects.toMatchObject({
    code: "configuration_invalid",
  });
});
