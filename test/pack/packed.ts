import { readFileSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { importsOf } from "../../.ci/build-imports.ts";
import { output } from "./run.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface PackedFile {
  readonly path: string;
  readonly mode: number;
}

/** A package as `npm pack` leaves it, with the text of its files. */
export interface Packed {
  readonly name: string;
  /** Path of the tarball. */
  readonly tarball: string;
  readonly files: readonly PackedFile[];
  readonly texts: ReadonlyMap<string, string>;
  readonly manifest: PackedManifest;
}

export interface PackedManifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly imports?: Readonly<Record<string, unknown>>;
}

interface PackAnswer {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly PackedFile[];
}

/** The folders of packages that are not private, from the repository's root. */
export function publicFolders(): string[] {
  const folders = [...readdirSync(join(ROOT, "packages")).map((folder) => join("packages", folder)), "infra"];
  return folders.filter((folder) => {
    const manifest: unknown = readJson(join(ROOT, folder, "package.json"));
    return !(manifest as { private?: boolean }).private;
  });
}

/** Packs what `npm run build` has left. */
export async function pack(destination: string): Promise<Packed[]> {
  const folders = publicFolders().map((folder) => join(ROOT, folder, "dist"));
  const answer = await output("npm", ["pack", "--json", "--pack-destination", destination, ...folders], ROOT);
  // A later npm answers by name.
  const packed = Object.values(JSON.parse(answer) as Record<string, PackAnswer>);
  return packed.map(({ name, filename, files }) => {
    const dist = folders.find((folder) => nameIn(folder) === name);
    if (dist === undefined) throw new Error(`npm packed ${name}, which was not built here`);
    return {
      name,
      tarball: join(destination, filename),
      files,
      texts: new Map(files.map(({ path }) => [path, readFileSync(join(dist, path), "utf8")])),
      manifest: readJson(join(dist, "package.json")) as PackedManifest,
    };
  });
}

function nameIn(folder: string): string {
  return (readJson(join(folder, "package.json")) as PackedManifest).name;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Every package that comes with this one. */
export function needs({ dependencies, optionalDependencies, peerDependencies }: PackedManifest): string[] {
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
}

/** Files of a tarball that no user has a use for. */
export function strangeFiles(paths: readonly string[]): string[] {
  const known =
    /^(package\.json|README\.md|RUNBOOK\.md|LICENSE|bin\/[\w-]+\.mjs|lib\/([\w-]+\/)*[\w-]+\.(js|d\.ts|json))$/;
  // The console as it is served; the names of its files end in digests, which may say anything.
  const served = /^site\/(assets\/)?[\w-]+\.(js|css|svg|html)$/;
  return paths.filter(
    (path) => !served.test(path) && (!known.test(path) || /test|support|fixture/i.test(path)),
  );
}

/** Lines that name a place on the machine that built the package. */
export function privatePaths(text: string, places: readonly string[]): string[] {
  return text.split("\n").filter((line) => places.some((place) => line.includes(place)));
}

/** Packages that a built file imports, types included, and that its package.json does not name. */
export function undeclaredImports(manifest: PackedManifest, file: string, text: string): string[] {
  if (!/\.(js|mjs|d\.ts)$/.test(file)) return [];
  const declared = new Set([manifest.name, ...needs(manifest)]);
  return importsOf(file, text)
    .map(({ specifier }) => specifier)
    .filter((specifier) => {
      if (specifier.startsWith(".") || isBuiltin(specifier)) return false;
      if (specifier.startsWith("#")) return !Object.hasOwn(manifest.imports ?? {}, specifier);
      return !declared.has(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    })
    .map((specifier) => `${manifest.name}: ${file} imports ${specifier}`);
}
