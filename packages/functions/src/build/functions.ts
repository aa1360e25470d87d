import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestManifest, loadConfig, type DigestManifest } from "ghouls";
import { ENTRIES, type Entry } from "../plan/functions.ts";
import { bundleAll } from "./bundle.ts";
import { askedOf, copyOutside, outsideFiles } from "./outside.ts";
import { placeOf } from "./place.ts";
import {
  RELEASES,
  basisOf,
  contentsOf,
  recordOf,
  recordText,
  type BuildRecord,
  type ListedRelease,
} from "./record.ts";
import { startEsbuildWithRoom } from "./room.ts";
import { makeReleases } from "./releases.ts";
import { buildSources } from "./sources.ts";
import { tryOut } from "./trial.ts";

export interface BuildOptions {
  /** Path of ghouls.config.ts. */
  readonly config: string;
  /** Folder that gets one folder for each function. What an earlier build left there is gone once this one is whole. */
  readonly out: string;
}

export interface BuiltFunction {
  readonly entry: Entry;
  /** The folder to deploy: index.mjs and its chunks. */
  readonly folder: string;
  readonly handler: "index.handler";
  /** All of its files together. */
  readonly bytes: number;
}

export interface Built {
  /** Digest over all files: the same sources give the same build. */
  readonly build: string;
  readonly functions: readonly BuiltFunction[];
  /** Digest by `<name>@<version>`, as it stands in the bundles. */
  readonly workflows: DigestManifest;
  /** The code of each workflow by itself, for workers of later builds. */
  readonly releases: readonly BuiltRelease[];
}

/** A release as a file of a build. */
interface BuiltRelease extends ListedRelease {
  readonly file: string;
}

/**
 * Bundles the functions of a configuration, each as a folder for Lambda. The digests of its workflows are made over the
 * very texts that are bundled (design.md §5). Each is loaded once before the build takes the place of an earlier one.
 * @throws GhoulsError configuration_invalid where the configuration cannot be loaded or bundled, a bundle cannot be loaded,
 * or `out` holds something else or cannot be a folder
 */
export async function buildFunctions(options: BuildOptions): Promise<Built> {
  const { config, path: configPath, root } = await loadConfig(options.config);
  const place = await placeOf(options.out);
  const away = await mkdtemp(join(tmpdir(), "ghouls-build-"));
  try {
    await startEsbuildWithRoom();
    const sources = buildSources();
    const workflows = await digestManifest(config, sources.read);
    const { external } = config.build;
    const code = { root, manifest: workflows, sources, external };
    const releases = await makeReleases({ ...code, workflows: config.workflows, all: config.workflows });
    const metafiles = await bundleAll(away, {
      ...code,
      configPath,
      releases: releases.map(({ bundle }) => bundle),
    });
    const outside = await outsideFiles(external, askedOf(metafiles, external, root), root);
    for (const entry of ENTRIES) copyOutside(outside, join(away, entry));
    await tryOut(ENTRIES.map((entry) => ({ entry, folder: join(away, entry) })));
    await mkdir(join(away, RELEASES));
    for (const { bundle, text } of releases) await writeFile(join(away, RELEASES, `${bundle}.json`), text);
    const listed = releases.map(({ workflow: { name, version, digest }, bundle, text }) => ({
      name,
      version,
      digest,
      bundle,
      bytes: Buffer.byteLength(text),
    }));
    const record = {
      ...contentsOf(away),
      workflows,
      releases: listed,
      ...(await basisOf(config, configPath)),
    };
    await place.fill(away, recordText(record));
    return builtAt(place.out, record);
  } finally {
    await rm(away, { recursive: true, force: true });
    await place.leave();
  }
}

/** Puts an earlier build in the place of a new one. */
export interface TakeOptions extends BuildOptions {
  /** Folder that an earlier build was put into. It is left as it is. */
  readonly from: string;
}

/**
 * Takes a build that is there already, instead of making one: built once, it is deployed to every stage.
 * @throws GhoulsError configuration_invalid where it is no build, is not what its build left, or was made of another
 * configuration, or of other code of this one
 */
export async function takeBuild(options: TakeOptions): Promise<Built> {
  const { config, path: configPath } = await loadConfig(options.config);
  const record = await recordOf(options.from, await basisOf(config, configPath));
  const place = await placeOf(options.out);
  try {
    await place.fill(options.from, recordText(record));
    return builtAt(place.out, record);
  } finally {
    await place.leave();
  }
}

function builtAt(out: string, { build, bytes, workflows, releases }: BuildRecord): Built {
  const functions = ENTRIES.map((entry) => ({
    entry,
    folder: join(out, entry),
    handler: "index.handler" as const,
    bytes: bytes[entry],
  }));
  const files = releases.map((one) => ({ ...one, file: join(out, RELEASES, `${one.bundle}.json`) }));
  return { build, functions, workflows, releases: files };
}
