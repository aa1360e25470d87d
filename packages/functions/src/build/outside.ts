import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, parse, relative, sep } from "node:path";
import type { Metafile } from "esbuild";
import { GhoulsError, describeFailure } from "@ghouls/core";
import { layout, TwoVersions, type Link } from "./layout.ts";

/** A file of a package that stays outside the bundle, and where it lies in a function's folder. */
export interface OutsideFile {
  readonly from: string;
  readonly to: string;
}

/** An import that a bundle leaves outside, and the module that it was written in. */
export interface Asked {
  readonly specifier: string;
  readonly as: "import" | "require";
  readonly importer: string;
}

/** What bundles really import of the packages that stay outside. An import that nothing uses is not in them any more. */
export function askedOf(metafiles: readonly Metafile[], packages: readonly string[], root: string): Asked[] {
  const asked = new Map<string, Asked>();
  for (const { inputs, outputs } of metafiles) {
    const left = new Set(Object.values(outputs).flatMap(({ imports }) => externals(imports)));
    for (const [importer, { imports }] of Object.entries(inputs)) {
      for (const { path, kind } of imports) {
        if (!left.has(path) || !packages.includes(packageOf(path))) continue;
        const as = kind.startsWith("require") ? "require" : "import";
        asked.set(`${as} ${path} ${importer}`, { specifier: path, as, importer: join(root, importer) });
      }
    }
  }
  return [...asked.values()];
}

function externals(imports: readonly { readonly path: string; readonly external?: boolean }[]): string[] {
  return imports.filter(({ external }) => external === true).map(({ path }) => path);
}

/**
 * The files of packages that are deployed beside the bundle, with all that they need. They are traced, not guessed:
 * `@vercel/nft` follows what their code imports and reads, which is what makes them impossible to bundle. Links become
 * copies under the name that they are imported by.
 * @throws GhoulsError configuration_invalid for a package that is not installed, or that the bundle would need twice
 */
export async function outsideFiles(
  packages: readonly string[],
  asked: readonly Asked[],
  from: string,
): Promise<OutsideFile[]> {
  if (packages.length === 0) return [];
  const root = realpathSync(from);
  const { files, links } = await traced(entrances(packages, asked, root), root);
  const byFolder = Map.groupBy(files, (file) => folderOf(file) ?? "");
  const placed = placedOrRefused(links, root);
  const known = new Set(placed.map(({ folder }) => folder));
  const names = new Set(placed.map(({ at }) => at));
  // Read, but imported by nobody, such as a library that another one is linked with: beside the others.
  for (const folder of [...byFolder.keys()].toSorted()) {
    const at = `node_modules/${nameOf(folder)}`;
    if (folder !== "" && folder !== root && !known.has(folder) && !names.has(at)) placed.push({ folder, at });
  }
  const all = placed.flatMap(({ folder, at }) =>
    [...new Set([join(folder, "package.json"), ...(byFolder.get(folder) ?? [])])]
      .filter((file) => existsSync(file))
      .map((file) => ({ from: file, to: join(at, relative(folder, file)) })),
  );
  return all.toSorted((a, b) => (a.to < b.to ? -1 : 1));
}

export function copyOutside(files: readonly OutsideFile[], folder: string): void {
  for (const { from, to } of files) {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
  }
}

/** A module that only the tracing sees: it imports as the bundle does, from where the import was written. */
interface Entrance {
  readonly file: string;
  readonly text: string;
}

function entrances(packages: readonly string[], asked: readonly Asked[], root: string): Entrance[] {
  const named = new Set(asked.map(({ specifier }) => packageOf(specifier)));
  // One that no import names is loaded by its name at run time, in either way.
  const unnamed = packages.filter((name) => !named.has(name));
  const loose = unnamed.flatMap((specifier) =>
    (["import", "require"] as const).map((as) => ({ specifier, as, importer: join(root, "package.json") })),
  );
  return [...asked, ...loose].map(({ specifier, as, importer }, index) => {
    const name = JSON.stringify(specifier);
    const [text, ending] = as === "import" ? [`import ${name};`, "mjs"] : [`require(${name});`, "cjs"];
    // Real, as the tracing calls it.
    return { file: join(realpathSync(dirname(importer)), `ghouls-outside-${index}.${ending}`), text };
  });
}

async function traced(given: readonly Entrance[], root: string): Promise<{ files: string[]; links: Link[] }> {
  const { nodeFileTrace, resolve } = await import("@vercel/nft");
  const texts = new Map(given.map(({ file, text }) => [file, text]));
  const links: Link[] = [];
  const found = new Set<string>();
  const failed = new Map<string, string>();
  const base = parse(root).root;
  const { fileList } = await nodeFileTrace([...texts.keys()], {
    base,
    processCwd: root,
    // As Node resolves: where a package says what it exports, nothing else of it is found.
    exportsOnly: true,
    conditions: ["node", "node-addons"],
    readFile: async (path) => texts.get(path) ?? readFile(path).catch(() => null),
    resolve: async (specifier, parent, job, cjs) => {
      const own = texts.has(parent);
      try {
        const targets = await resolve(specifier, parent, job, cjs);
        for (const to of [targets].flat()) links.push(...linkOf(specifier, own ? null : parent, to));
        if (own) found.add(specifier);
        return targets;
      } catch (error) {
        if (own) failed.set(specifier, describeFailure(error).message.split("\n")[0] ?? "");
        throw error;
      }
    },
  });
  for (const [specifier, why] of failed) {
    if (!found.has(specifier))
      throw refused(`${specifier} is not installed: ${why.replace(/ loaded from .*/, "")}`);
  }
  const files = [...fileList].map((path) => join(base, path)).filter((path) => !texts.has(path));
  const kinds = await Promise.all(files.map((file) => lstat(file)));
  // Links are laid out anew, and what they lead to is in the list itself.
  return { files: files.filter((_file, index) => kinds[index]?.isFile() === true), links };
}

function linkOf(specifier: string, parent: string | null, target: string): Link[] {
  if (target.startsWith("node:")) return [];
  const [from, to] = [parent === null ? null : folderOf(parent), folderOf(target)];
  if (from === undefined || to === undefined || from === to) return [];
  return [{ from, name: /^[./#]/.test(specifier) ? nameOf(to) : packageOf(specifier), to }];
}

function placedOrRefused(links: readonly Link[], root: string) {
  try {
    return layout(links);
  } catch (error) {
    if (!(error instanceof TwoVersions)) throw error;
    const [one, other] = error.folders.map((folder) => relative(root, folder));
    throw refused(`${one} and ${other} are two versions of one package`);
  }
}

/** "@a/b" of "@a/b/c". */
function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

const INSTALLED = `${sep}node_modules${sep}`;

/** The folder of the package that a file belongs to. A linked one lies in no node_modules: the nearest that has a name. */
function folderOf(file: string): string | undefined {
  const at = file.lastIndexOf(INSTALLED);
  if (at !== -1) {
    const rest = file.slice(at + INSTALLED.length).split(sep);
    return join(file.slice(0, at + INSTALLED.length), packageOf(rest.join("/")));
  }
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (manifestName(folder) !== undefined) return folder;
  }
  return undefined;
}

/** What a package is called where nobody has called it by a name. */
function nameOf(folder: string): string {
  const at = folder.lastIndexOf(INSTALLED);
  if (at === -1) return manifestName(folder) ?? "";
  return folder.slice(at + INSTALLED.length).replaceAll(sep, "/");
}

function manifestName(folder: string): string | undefined {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  const { name } = JSON.parse(readFileSync(file, "utf8")) as { name?: unknown };
  return typeof name === "string" ? name : undefined;
}

function refused(what: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `build.external cannot be deployed: ${what}`, {
    fix: "Name packages that are installed, once, beside the configuration.",
  });
}
