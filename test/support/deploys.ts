import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { AnyWorkflow, Logger } from "@ghouls/core";
import { Registry, createAdmission, createAnnouncement, type ExecutionDeps } from "@ghouls/engine";
import { digestManifest, loadConfig, publishReleases, type Config } from "ghouls";
import { makeReleases, type MadeRelease } from "../../packages/functions/src/build/releases.ts";
import { buildSources } from "../../packages/functions/src/build/sources.ts";
import { createReleases } from "../../packages/ghouls/src/releases/loader.ts";
import type { OpenReleaseStore } from "../../packages/ghouls/src/releases/store.ts";
import { SOMEBODY, requestOf, type World } from "./world.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const folders: string[] = [];
afterAll(async () => {
  for (const one of folders) await rm(one, { recursive: true, force: true });
});

/** A folder that goes with the test file. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "ghouls-deploys-")));
  folders.push(root);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

/** Code as its files: `ghouls.config.ts` among them. Each in a folder of its own, as each deploy has its own checkout. */
export async function project(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await folder({ "package.json": '{"type":"module"}', ...files });
  await mkdir(join(root, "node_modules"), { recursive: true });
  for (const name of ["ghouls", "zod"]) await symlink(join(MODULES, name), join(root, "node_modules", name));
  return root;
}

/** A build of a project, with what a deploy of it brings. */
export interface Deploy {
  readonly name: string;
  readonly config: Config;
  readonly made: readonly MadeRelease[];
  readonly digests: Readonly<Record<string, string>>;
  readonly registry: Registry;
  submit(workflow: string, input?: unknown): Promise<string>;
  /** What its workers have; each is a process of its own, which has loaded nothing yet. */
  deps(store?: OpenReleaseStore, log?: Logger): Partial<ExecutionDeps>;
}

/** Builds a project as `ghouls build` does, without its functions. */
export async function buildDeploy(
  world: World,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<Deploy> {
  const root = await project(files);
  const { config } = await loadConfig(join(root, "ghouls.config.ts"));
  const sources = buildSources();
  const digests = await digestManifest(config, sources.read);
  const { external } = config.build;
  const made = await makeReleases({
    workflows: config.workflows,
    all: config.workflows,
    manifest: digests,
    root,
    sources,
    external,
  });
  const registry = new Registry(
    config.workflows.map((definition: AnyWorkflow) => ({
      definition,
      digest: digests[`${definition.name}@${definition.version}`] ?? "",
    })),
  );
  const announce = createAnnouncement({ ledger: world.ledger, registry, capacities: {}, build: name });
  const admission = createAdmission({
    ...world.deps,
    registry,
    queue: world.queue,
    announce,
    route: undefined,
    queues: ["runs"],
  });
  return {
    name,
    config,
    made,
    digests,
    registry,
    submit: async (workflow, input = null) =>
      (await admission.admit(SOMEBODY, requestOf({ workflow, input }))).runId,
    deps: (store, log = world.deps.log) => ({
      registry,
      releases: createReleases({ ledger: world.ledger, store, log }),
    }),
  };
}

/** Puts the releases of a build where workers find them. Answers how many the ledger did not know. */
export function publish(world: World, { made, name }: Deploy, store: OpenReleaseStore): Promise<number> {
  const files = made.map(({ bundle, text }) => ({ bundle, bytes: Buffer.from(text) }));
  return publishReleases(files, name, { ledger: world.ledger, store });
}
