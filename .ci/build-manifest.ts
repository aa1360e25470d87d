/** What the build reads of a package.json, and what it writes. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  /** What is published beside what is built, as it stands in the package's folder. */
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Fields that say nothing to a user of the package. */
const LEFT_OUT = new Set(["devDependencies", "scripts", "private", "exports", "imports", "files"]);

/**
 * The package.json of a built package: its entry points name built files, and what only the repository needs is gone.
 * @throws Error where an entry point is no source file
 */
export function publishedManifest(source: Manifest): Record<string, unknown> {
  const kept = Object.entries(source).filter(([field]) => !LEFT_OUT.has(field));
  return {
    ...Object.fromEntries(kept),
    ...(source.exports === undefined ? {} : { exports: builtEntries(source.exports, source.name) }),
    ...(source.imports === undefined ? {} : { imports: builtEntries(source.imports, source.name) }),
    files: [...(source.bin === undefined ? [] : ["bin"]), "lib", ...(source.files ?? [])],
    // A scoped package is restricted unless it says otherwise.
    publishConfig: { access: "public" },
  };
}

function builtEntries(entries: Readonly<Record<string, string>>, name: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entries).map(([entry, file]) => {
      const path = /^\.\/src\/(.+)\.ts$/.exec(file)?.[1];
      if (path === undefined)
        throw new Error(`${name}: the entry "${entry}" names ${file}, not a ./src/*.ts`);
      return [entry, { types: `./lib/${path}.d.ts`, default: `./lib/${path}.js` }];
    }),
  );
}

/** What is wrong with the manifests as a set: one version, kept exact between them, and Node 24. */
export function manifestProblems(manifests: readonly Manifest[], version: string): string[] {
  const ours = new Map(manifests.map((manifest) => [manifest.name, manifest]));
  return manifests.flatMap((manifest) => {
    const { name, engines, dependencies, peerDependencies } = manifest;
    const problems: string[] = [];
    if (manifest.version !== version) problems.push(`${name}: version ${manifest.version}, not ${version}`);
    if (engines?.["node"] !== ">=24") problems.push(`${name}: engines.node is not ">=24"`);
    for (const [dependency, range] of Object.entries({ ...dependencies, ...peerDependencies })) {
      if (dependency.startsWith("@ghouls/") && !ours.has(dependency))
        problems.push(`${name}: depends on ${dependency}, which is not published`);
      if (ours.has(dependency) && range !== version)
        problems.push(`${name}: wants ${dependency} ${range}, not exactly ${version}`);
    }
    return problems;
  });
}
