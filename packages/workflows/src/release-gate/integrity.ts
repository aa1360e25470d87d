import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import cacache from "cacache";
import type { LockedPackage } from "./lockfile.ts";

type Outcome = "verified" | "not_in_cache" | "mismatch" | "no_integrity";

/** npm's cache on this machine. */
export interface NpmCache {
  /** The `_cacache` folder. */
  readonly folder: string;
  readonly exists: boolean;
  /** Base URL under which tarballs of unnamed origin were fetched; ends in "/". Where it is undefined, the cache is asked. */
  readonly registry: string | undefined;
}

/** What was found out about one package. */
export interface Finding {
  readonly package: string;
  readonly outcome: Outcome;
  /** For a reader; empty for "verified". */
  readonly why: string;
  /** Whether the package should have had an integrity: it is from the registry, and no other tarball contains it. */
  readonly isGap: boolean;
}

/** Strongest first: the order in which npm chooses. */
const ALGORITHMS = ["sha512", "sha384", "sha256", "sha1"] as const;
/** Packages that are read at the same time. */
const AT_ONCE = 8;

type Env = Readonly<Record<string, string | undefined>>;

/** Finds npm's cache as npm does (docs.npmjs.com, config, "cache"): `npm_config_cache`, else the default folder. */
export function findNpmCache(
  env: Env,
  home: string = homedir(),
  platform: string = process.platform,
): NpmCache {
  const windows = env["LOCALAPPDATA"];
  const usual = platform === "win32" && windows ? join(windows, "npm-cache") : join(home, ".npm");
  const folder = join(env["npm_config_cache"] || env["NPM_CONFIG_CACHE"] || usual, "_cacache");
  const named = env["npm_config_registry"] || env["NPM_CONFIG_REGISTRY"];
  const registry =
    named === undefined || named === "" || named.endsWith("/") ? named || undefined : `${named}/`;
  return { folder, exists: existsSync(folder), registry };
}

/**
 * Checks packages against the cache, several at once. Findings come in the packages' order.
 * @throws the signal's reason once it has fired, between two packages
 * @throws Error if the cache exists but cannot be read; a further try may succeed
 */
export async function verifyPackages(
  packages: readonly LockedPackage[],
  cache: NpmCache,
  signal?: AbortSignal,
): Promise<readonly Finding[]> {
  const from =
    cache.exists && cache.registry === undefined ? { ...cache, registry: await registryIn(cache) } : cache;
  const findings: Finding[] = [];
  const queue = packages.entries();
  const failed = new AbortController();
  const work = async (): Promise<void> => {
    for (const [index, found] of queue) {
      signal?.throwIfAborted();
      if (failed.signal.aborted) return;
      try {
        findings[index] = await verifyPackage(found, from);
      } catch (error) {
        failed.abort(); // so that nothing is read on beside the step's next try
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return findings;
}

/**
 * Reads a package's tarball out of npm's cache, hashes it, and compares the hash with the lockfile's integrity. The
 * tarball is looked up by the URL it was fetched from: so a lockfile whose integrity was changed is found out, as the
 * cache still holds what the registry once sent. Where the cache knows no such URL, it is looked up by its integrity.
 */
export async function verifyPackage(found: LockedPackage, cache: NpmCache): Promise<Finding> {
  const name = `${found.name}@${found.version ?? ""}`;
  const finding = (outcome: Outcome, why = "", isGap = false): Finding => ({
    package: name,
    outcome,
    why,
    isGap,
  });
  const wanted = strongest(found.integrity);
  if (wanted === undefined) {
    if (found.bundled) return finding("no_integrity", "it ships inside another package's tarball");
    if (found.kind === "git") return finding("no_integrity", "it comes from git");
    const why =
      found.integrity === undefined
        ? "the lockfile has none"
        : "the lockfile's is not one that can be checked";
    return finding("no_integrity", why, true);
  }
  if (!cache.exists) return finding("not_in_cache", "there is no npm cache here");
  const byIntegrity = wanted.digests.map((digest) => `${wanted.algorithm}-${digest}`);
  const fetched = await fetchedAs(found, cache);
  for (const stored of fetched === undefined ? byIntegrity : [fetched, ...byIntegrity]) {
    const read = await hashContent(cache.folder, stored, wanted.algorithm);
    if (read === "gone") continue;
    if (read === "damaged")
      return finding("mismatch", "the cached tarball is damaged: its content has another hash");
    if (wanted.digests.includes(read.digest)) return finding("verified");
    const cached = `${wanted.algorithm}-${read.digest}`;
    return finding(
      "mismatch",
      `npm fetched this tarball as ${cached}, the lockfile has ${byIntegrity.join(" ")}`,
    );
  }
  return finding("not_in_cache", "npm's cache on this machine does not hold it");
}

/** The hashes of the strongest algorithm of an SRI string (W3C, Subresource Integrity, §3). */
export function strongest(
  integrity: string | undefined,
): { readonly algorithm: string; readonly digests: readonly string[] } | undefined {
  const hashes = (integrity ?? "").split(/\s+/).map((part) => {
    const [, algorithm = "", digest = ""] = /^([a-z0-9]+)-([A-Za-z0-9+/]+={0,2})(\?.*)?$/.exec(part) ?? [];
    return { algorithm, digest };
  });
  for (const algorithm of ALGORITHMS) {
    const bytes = createHash(algorithm).digest().length;
    const digests = hashes
      .filter((hash) => hash.algorithm === algorithm && Buffer.from(hash.digest, "base64").length === bytes)
      .map(({ digest }) => digest);
    if (digests.length > 0) return { algorithm, digests };
  }
  return undefined;
}

/** The integrity under which npm stored what it fetched from the package's URL, if it did. */
async function fetchedAs(found: LockedPackage, cache: NpmCache): Promise<string | undefined> {
  const file = found.name.slice(found.name.lastIndexOf("/") + 1);
  if (found.resolved === undefined && cache.registry === undefined) return undefined;
  const url = found.resolved ?? `${cache.registry}${found.name}/-/${file}-${found.version}.tgz`;
  const entry = await cacache.get.info(cache.folder, `make-fetch-happen:request-cache:${url}`);
  return entry?.integrity;
}

/** A tarball's key in npm's cache: the registry's address, the package's name, and the file. */
const TARBALL_KEY = /^make-fetch-happen:request-cache:(https?:\/\/.+?\/)(?:@[^/]+\/)?[^/@]+\/-\/[^/]+\.tgz$/;

/** The registry that this cache was filled from: the address of the first tarball in its index. */
async function registryIn(cache: NpmCache): Promise<string | undefined> {
  for await (const { key } of cacache.ls.stream(cache.folder)) {
    const address = TARBALL_KEY.exec(key)?.[1];
    if (address !== undefined) return address;
  }
  return undefined;
}

async function hashContent(
  folder: string,
  sri: string,
  algorithm: string,
): Promise<{ readonly digest: string } | "gone" | "damaged"> {
  const hash = createHash(algorithm);
  try {
    for await (const chunk of cacache.get.stream.byDigest(folder, sri)) hash.update(chunk);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "gone";
    if (code === "EINTEGRITY") return "damaged";
    throw error;
  }
  return { digest: hash.digest("base64") };
}
