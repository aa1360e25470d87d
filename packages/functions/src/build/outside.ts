import { copyFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, parse, relative, sep } from "node:path";
import { GhoulsError } from "@ghouls/core";

/** A file of a package that stays outside the bundle, and where it lies in a function's folder. */
export interface OutsideFile {
  readonly from: string;
  readonly to: string;
}

/**
 * The files of packages that are deployed beside the bundle, with all that they need. They are traced, not guessed:
 * `@vercel/nft` follows what their code requires and reads, which is what makes them impossible to bundle.
 * @throws GhoulsError configuration_invalid for a package that is not installed, or that would be there in two versions
 */
export async function outsideFiles(packages: readonly string[], root: string): Promise<OutsideFile[]> {
  if (packages.length === 0) return [];
  const { nodeFileTrace } = await import("@vercel/nft");
  const require = createRequire(join(root, "package.json"));
  const entries = packages.map((name) => entryOf(name, require));
  const base = parse(root).root;
  const { fileList } = await nodeFileTrace(entries, { base, processCwd: root });
  const byTarget = new Map<string, string>();
  for (const path of fileList) {
    const at = path.indexOf(`node_modules${sep}`);
    if (at === -1) continue;
    const [from, to] = [join(base, path), path.slice(at)];
    const other = byTarget.get(to);
    if (other !== undefined && other !== from) {
      throw refused(`${relative(root, from)} and ${relative(root, other)} are two versions of one package`);
    }
    byTarget.set(to, from);
  }
  return [...byTarget].map(([to, from]) => ({ from, to })).toSorted((a, b) => (a.to < b.to ? -1 : 1));
}

export async function copyOutside(files: readonly OutsideFile[], folder: string): Promise<void> {
  for (const { from, to } of files) {
    await mkdir(dirname(join(folder, to)), { recursive: true });
    await copyFile(from, join(folder, to));
  }
}

function entryOf(name: string, require: NodeJS.Require): string {
  try {
    return require.resolve(name);
  } catch (error) {
    throw refused(`${name} is not installed: ${error instanceof Error ? error.message.split("\n")[0] : ""}`);
  }
}

function refused(what: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `build.external cannot be deployed: ${what}`, {
    fix: "Name packages that are installed, once, beside the configuration.",
  });
}
