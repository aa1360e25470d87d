import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NonRetryableError } from "ghouls";
import * as z from "zod";
import { readBounded, sha256 } from "./files.ts";

/** Largest lockfile that is read, in bytes. */
const MAX_LOCKFILE_BYTES = 64 * 1024 * 1024;
/** Looser than npm's rule for new names, as old ones stay in use; enough for a package URL. */
const PACKAGE_NAME = /^(@[^/@\s\p{Cc}\p{Cs}]+\/)?[^/@\s\p{Cc}\p{Cs}]{1,214}$/u;
const REMAKE = 'Make it anew with "npm install --package-lock-only".';

/** Where a package comes from: npm's registry, a git commit, a file on disk, or the project itself. */
type PackageKind = "registry" | "git" | "file" | "workspace";

export interface LockedPackage {
  /** Its key in the lockfile, such as `node_modules/a/node_modules/b`; unique. */
  readonly path: string;
  readonly name: string;
  /** Undefined only for parts of the project itself. */
  readonly version: string | undefined;
  readonly kind: PackageKind;
  /** The `license` (or old `licenses`) field as it stands there. */
  readonly licence: unknown;
  readonly integrity: string | undefined;
  /** URL with user name and password removed. */
  readonly resolved: string | undefined;
  /** Ships inside the tarball of another package, whose integrity covers it. */
  readonly bundled: boolean;
  /** Needed by nothing but development. */
  readonly dev: boolean;
  readonly optional: boolean;
  /** Names, not paths; `graph.ts` finds what each one resolves to. */
  readonly dependsOn: readonly string[];
}

export interface Lockfile {
  readonly path: string;
  /** Of the file's text, in hex. */
  readonly sha256: string;
  readonly lockfileVersion: 2 | 3;
  readonly project: {
    readonly name: string;
    readonly version: string | undefined;
    readonly dependsOn: readonly string[];
  };
  /** Everything but the project and links, sorted by path. */
  readonly packages: readonly LockedPackage[];
  /** Target folders of links, by the link's path. */
  readonly links: ReadonlyMap<string, string>;
}

/** Names and versions reach the journal and URLs: no control characters, no halves of characters. */
const plain = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), "has characters that belong in no name");

const Names = z.record(z.string(), z.unknown()).optional();
const Entry = z.object({
  name: plain(214).optional(),
  version: plain(256).optional(),
  resolved: plain(2_000).optional(),
  integrity: z.string().max(2_000).optional(),
  license: z.unknown().optional(),
  licenses: z.unknown().optional(),
  link: z.boolean().optional(),
  inBundle: z.boolean().optional(),
  dev: z.boolean().optional(),
  optional: z.boolean().optional(),
  devOptional: z.boolean().optional(),
  dependencies: Names,
  devDependencies: Names,
  optionalDependencies: Names,
  peerDependencies: Names,
});
type Entry = z.infer<typeof Entry>;

const Top = z.object({
  name: plain(214).optional(),
  version: plain(256).optional(),
  packages: z.record(z.string().max(1_000), z.unknown()),
});

/** The nearest `package-lock.json` at or above the folder of a module (a file URL). @throws NonRetryableError */
export function nearestLockfile(moduleUrl: string): string {
  let folder = dirname(fileURLToPath(moduleUrl));
  for (;;) {
    const candidate = join(folder, "package-lock.json");
    if (existsSync(candidate)) return candidate;
    const parent = dirname(folder);
    if (parent === folder) {
      throw new NonRetryableError(
        `There is no package-lock.json at or above ${dirname(fileURLToPath(moduleUrl))}. Name one as "lockfile" in the input.`,
      );
    }
    folder = parent;
  }
}

/**
 * Reads npm's lockfile (version 2 or 3; docs.npmjs.com, package-lock.json).
 * @throws NonRetryableError for a file that cannot be read, is another format, or lists nothing
 */
export async function readLockfile(path: string): Promise<Lockfile> {
  const text = await readBounded(path, {
    what: "lockfile",
    maxBytes: MAX_LOCKFILE_BYTES,
    fix: 'Name an npm package-lock.json as "lockfile" in the input.',
  });
  return parseLockfile(text, path);
}

/**
 * Parses the text of a lockfile; `path` names it in messages.
 * @throws NonRetryableError as `readLockfile`
 */
export function parseLockfile(text: string, path: string): Lockfile {
  const raw = json(text, path);
  const lockfileVersion = versionOf(raw, path);
  const top = Top.safeParse(raw);
  if (!top.success) throw wrong(path, "", top.error);
  const packages: LockedPackage[] = [];
  const links = new Map<string, string>();
  let root: Entry = {};
  for (const [key, value] of Object.entries(top.data.packages)) {
    const entry = Entry.safeParse(value);
    if (!entry.success) throw wrong(path, key, entry.error);
    if (key === "") root = entry.data;
    else if (entry.data.link === true) links.set(key, entry.data.resolved ?? "");
    else packages.push(lockedPackage(key, entry.data, path));
  }
  if (packages.length === 0) {
    throw new NonRetryableError(
      `The lockfile ${path} lists no packages beside the project itself. ${REMAKE}`,
    );
  }
  packages.sort((a, b) => (a.path < b.path ? -1 : 1));
  const name = root.name ?? top.data.name ?? (basename(dirname(path)) || "project");
  const project = { name, version: root.version ?? top.data.version, dependsOn: dependsOn(root, true) };
  return { path, sha256: sha256(text), lockfileVersion, project, packages, links };
}

function json(text: string, path: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new NonRetryableError(
      `The lockfile ${path} is not JSON: ${(error as Error).message}. Only npm's package-lock.json is read. ${REMAKE}`,
    );
  }
}

function versionOf(raw: unknown, path: string): 2 | 3 {
  const version =
    raw !== null && typeof raw === "object" && "lockfileVersion" in raw ? raw.lockfileVersion : undefined;
  if (version === 2 || version === 3) return version;
  throw new NonRetryableError(
    version === undefined
      ? `The lockfile ${path} has no lockfileVersion; it is not npm's package-lock.json. ${REMAKE}`
      : `The lockfile ${path} has lockfileVersion ${JSON.stringify(version)}; 2 and 3 are read. Make it anew with ` +
          `npm 7 or later: "npm install --package-lock-only --lockfile-version 3".`,
  );
}

function wrong(path: string, key: string, error: z.ZodError): NonRetryableError {
  const where = key === "" ? "" : `, entry "${key}"`;
  const issue = error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  return new NonRetryableError(
    `The lockfile ${path}${where} is wrong: ${place}${issue?.message ?? ""}. ${REMAKE}`,
  );
}

function lockedPackage(path: string, entry: Entry, lockfile: string): LockedPackage {
  const kind = kindOf(path, entry.resolved);
  if (kind !== "workspace" && entry.version === undefined) {
    throw new NonRetryableError(`The lockfile ${lockfile}, entry "${path}" has no version. ${REMAKE}`);
  }
  const name = entry.name ?? nameOf(path);
  if (kind !== "workspace" && !PACKAGE_NAME.test(name)) {
    throw new NonRetryableError(`The lockfile ${lockfile}, entry "${path}" has no package's name. ${REMAKE}`);
  }
  return {
    path,
    name,
    version: entry.version,
    kind,
    licence: entry.license ?? entry.licenses,
    integrity: entry.integrity,
    resolved: entry.resolved?.replace(/\/\/[^/@]*@/, "//"),
    bundled: entry.inBundle === true,
    dev: entry.dev === true,
    optional: entry.optional === true || entry.devOptional === true,
    dependsOn: dependsOn(entry, kind === "workspace"),
  };
}

/** What stands behind the last `node_modules/`; the folder's name for a part of the project. */
function nameOf(path: string): string {
  const marker = "node_modules/";
  const at = path.lastIndexOf(marker);
  return at === -1 ? basename(path) : path.slice(at + marker.length);
}

function kindOf(path: string, resolved: string | undefined): PackageKind {
  if (!/(^|\/)node_modules\//.test(path)) return "workspace";
  if (resolved === undefined) return "registry";
  if (/^(git[+:]|ssh:|github:|gitlab:|bitbucket:|gist:)/.test(resolved)) return "git";
  return resolved.startsWith("file:") ? "file" : "registry";
}

function dependsOn(entry: Entry, withDev: boolean): readonly string[] {
  const groups = [entry.dependencies, entry.optionalDependencies, entry.peerDependencies];
  if (withDev) groups.push(entry.devDependencies);
  return [...new Set(groups.flatMap((group) => Object.keys(group ?? {})))].toSorted();
}
