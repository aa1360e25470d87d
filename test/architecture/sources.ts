import { globSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { importsOf, type ImportEdge } from "../../.ci/build-imports.ts";

/** The repository's folder, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A file of the repository; its path starts at the root, with "/" on every system. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface PackageInfo {
  /** Its folder under packages. */
  readonly folder: string;
  readonly name: string;
  /** Specifiers that may be imported, such as "@ghouls/functions/worker". */
  readonly entries: readonly string[];
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
  readonly peerDependencies: readonly string[];
  readonly optionalPeers: readonly string[];
  /** Names of the package's own aliases, such as "#config". */
  readonly aliases: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly exports?: Record<string, unknown>;
  readonly imports?: Record<string, unknown>;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>;
}

export function packageOf(folder: string, manifest: Manifest): PackageInfo {
  const optional = Object.entries(manifest.peerDependenciesMeta ?? {}).filter(([, meta]) => meta.optional);
  return {
    folder,
    name: manifest.name,
    entries: Object.keys(manifest.exports ?? {}).map((entry) => manifest.name + entry.slice(1)),
    dependencies: Object.keys(manifest.dependencies ?? {}),
    devDependencies: Object.keys(manifest.devDependencies ?? {}),
    peerDependencies: Object.keys(manifest.peerDependencies ?? {}),
    optionalPeers: optional.map(([name]) => name),
    aliases: Object.keys(manifest.imports ?? {}),
  };
}

export function readPackages(): PackageInfo[] {
  return globSync("packages/*/package.json", { cwd: ROOT }).map((path) =>
    packageOf(path.split(/[\\/]/)[1] ?? "", JSON.parse(readFileSync(join(ROOT, path), "utf8")) as Manifest),
  );
}

/** The names at the top of the repository. */
export function topLevel(): string[] {
  return readdirSync(ROOT);
}

/** Every file of ours that is code: packages, tests, infrastructure and the build. A frozen engine is what came out of one. */
export function readSources(): Source[] {
  return [
    ...globSync("packages/*/{src,bin}/**/*.{ts,tsx,mts,mjs,js,jsx}", { cwd: ROOT }),
    ...globSync("packages/*/*.{ts,mts,mjs,js}", { cwd: ROOT }),
    ...globSync("{test,infra,.ci}/**/*.{ts,tsx,mts,mjs,js}", { cwd: ROOT }),
    ...globSync("*.{ts,mts,mjs,js}", { cwd: ROOT }),
  ]
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !/(^|\/)(node_modules|dist|output|\.ghouls|test\/compat\/engines)\//.test(path))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** Whether a file is there for tests only. */
export function isTest(path: string): boolean {
  return /\.(test|support)\.[a-z]+$/.test(path) || path.startsWith("test/");
}

/** The folder of a file's package, or undefined outside of packages. */
export function folderOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

/** Files that take part in what is published or run. */
export function productionSources(sources: readonly Source[]): Source[] {
  return sources.filter(({ path }) => folderOf(path) !== undefined && !isTest(path));
}

const edges = new Map<Source, readonly ImportEdge[]>();

/** What a file imports; parsed once. */
export function importsIn(source: Source): readonly ImportEdge[] {
  const known = edges.get(source);
  if (known !== undefined) return known;
  const found = importsOf(source.path, source.text);
  edges.set(source, found);
  return found;
}

/** The path that a relative specifier leads to. */
export function resolveFrom(path: string, specifier: string): string {
  return posix.join(dirname(path), specifier);
}
