import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { GhoulsError } from "@ghouls/core";
import { codeDigest, type Config, type DigestManifest } from "ghouls";
import * as z from "zod";
import { ENTRIES, type Entry } from "../plan/functions.ts";
import { MARK } from "./place.ts";

/** What a build was made of. */
export interface Basis {
  /** Digest over the configuration's own code. */
  readonly code: string;
  /** Names of its queues. */
  readonly queues: readonly string[];
}

/** What a build is, in its folder beside the functions. */
export interface BuildRecord extends Basis {
  /** Digest over all files. */
  readonly build: string;
  readonly bytes: Readonly<Record<Entry, number>>;
  readonly workflows: DigestManifest;
  readonly releases: readonly ListedRelease[];
}

/** A release of a build. */
export interface ListedRelease {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** SHA-256 of its file: what a store has it under. */
  readonly bundle: string;
  readonly bytes: number;
}

/** The folder of a build that holds its releases. */
export const RELEASES = "releases";

/** Raised where a build of before could not be deployed any more. */
const FORMAT = 2;

const Recorded = z.object({
  format: z.literal(FORMAT),
  build: z.string(),
  bytes: z.record(z.enum(ENTRIES), z.number()),
  workflows: z.record(z.string(), z.string()),
  releases: z.array(
    z.object({
      name: z.string(),
      version: z.number(),
      digest: z.string(),
      bundle: z.string(),
      bytes: z.number(),
    }),
  ),
  code: z.string(),
  queues: z.array(z.string()),
});

export async function basisOf(config: Config, path: string): Promise<Basis> {
  return { code: await codeDigest(path), queues: Object.keys(config.queues).toSorted() };
}

export function recordText(record: BuildRecord): string {
  const about = "Made by ghouls build; the next build replaces this folder.";
  return `${JSON.stringify({ about, format: FORMAT, ...record }, null, 2)}\n`;
}

/** The digest of a build's files, and the bytes of each function. */
export function contentsOf(folder: string): Pick<BuildRecord, "build" | "bytes"> {
  const hash = createHash("sha256");
  const bytes = Object.fromEntries(ENTRIES.map((entry) => [entry, 0])) as Record<Entry, number>;
  for (const entry of ENTRIES) {
    for (const file of filesOf(join(folder, entry))) {
      const content = readFileSync(join(folder, entry, file));
      hash.update(`${entry}/${file}\0`).update(content);
      bytes[entry] += content.byteLength;
    }
  }
  for (const file of filesOf(join(folder, RELEASES)))
    hash.update(`${RELEASES}/${file}\0`).update(readFileSync(join(folder, RELEASES, file)));
  return { build: hash.digest("hex").slice(0, 32), bytes };
}

function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

/**
 * What is said of a build that is to be deployed.
 * @param basis what a build would be made of now
 * @throws GhoulsError configuration_invalid
 */
export async function recordOf(folder: string, basis: Basis): Promise<BuildRecord> {
  const record = await saidOf(folder);
  if (String(record.queues) !== String(basis.queues)) {
    throw refused(
      folder,
      `is a build with the queues ${record.queues.join(", ")}; here they are ${basis.queues.join(", ")}`,
    );
  }
  if (record.code !== basis.code) throw refused(folder, "is a build of other code than the configuration's");
  return whole(folder, record);
}

/** What a build says of itself, whatever it was made of. @throws GhoulsError configuration_invalid */
export async function wholeRecordOf(folder: string): Promise<BuildRecord> {
  return whole(folder, await saidOf(folder));
}

async function saidOf(folder: string): Promise<BuildRecord> {
  const parsed = Recorded.safeParse(await jsonAt(join(folder, MARK)));
  if (parsed.success) return parsed.data;
  throw refused(folder, "is no build of this version");
}

function whole(folder: string, record: BuildRecord): BuildRecord {
  if (digestAt(folder) === record.build) return record;
  throw refused(folder, "is not what its build has left there");
}

function digestAt(folder: string): string | undefined {
  try {
    return contentsOf(folder).build;
  } catch {
    // A function is gone.
    return undefined;
  }
}

async function jsonAt(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    // Not there, or the words of an earlier version.
    return undefined;
  }
}

function refused(folder: string, what: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `${folder} ${what}`, {
    fix: `Build it anew: npx ghouls build --out ${folder}`,
  });
}
