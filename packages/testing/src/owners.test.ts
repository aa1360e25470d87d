import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { defineConfig, workflow, type AuthorityCheck, type GrantProvider } from "ghouls";
import { startGhouls } from "./start.ts";

const disposed: unknown[] = [];
const releases = workflow({
  name: "releases",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  authority: { roles: ["releaser"] },
  grants: ["reports:write"],
  resources: {
    api: {
      build: ({ grants }) => ({ token: grants["reports:write"].value ?? "none" }),
      dispose: (api) => void disposed.push(api),
    },
  },
  run: (ctx) => ctx.step("write", () => ctx.resources.api.token),
});
const RITA = { subject: "user:rita", roles: ["releaser"] };
const granting = (value: unknown): GrantProvider => ({
  acquire: () => Promise.resolve({ outcome: "granted", value }),
});
const refusing: AuthorityCheck = {
  check: () => Promise.resolve({ outcome: "revoked", reason: "she has left" }),
};
const config = defineConfig({ workflows: [releases], authority: refusing, grants: granting("real") });

const plain = await startGhouls({ workflows: [releases], as: RITA });
const told = await startGhouls({ workflows: [releases], as: RITA, grants: granting("of the test") });
const configured = await startGhouls({ config, as: RITA });
const overridden = await startGhouls({
  config,
  as: RITA,
  authority: { check: () => Promise.resolve({ outcome: "valid" }) },
});
afterAll(() => Promise.all([plain, told, configured, overridden].map((ghouls) => ghouls.stop())));

test("who asks for a run holds the roles that the test gives, and each grant is given", async () => {
  const run = await plain.submit(releases, null);
  expect(await run.result()).toBe("none");
  expect(disposed).toEqual([{ token: "none" }]);
  const other = await plain.submit(releases, null, { as: { subject: "user:eve", roles: ["viewer"] } });
  await expect(other.result()).rejects.toMatchObject({ code: "authority_revoked" });
});

test("a test gives what its workflows are to be granted", async () => {
  expect(await (await told.submit(releases, null)).result()).toBe("of the test");
});

test("what a configuration has is asked, unless the test says otherwise", async () => {
  await expect((await configured.submit(releases, null)).result()).rejects.toMatchObject({
    code: "authority_revoked",
    message: expect.stringContaining("she has left"),
  });
  expect(await (await overridden.submit(releases, null)).result()).toBe("real");
});
