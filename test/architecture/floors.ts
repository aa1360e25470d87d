import { folderOf, importsIn, isTest, resolveFrom, type PackageInfo, type Source } from "./sources.ts";

/** Folders under packages by floor, the topmost first. */
export interface Floor {
  readonly number: number;
  readonly packages: readonly string[];
  /** Whether its packages may import those to their left; otherwise they do not import each other. */
  readonly leftwards: boolean;
}

/** An upward way that design.md §7 allows. */
export interface Exception {
  /** Start of the path of the files that may use it. */
  readonly files: string;
  readonly specifier: string;
  readonly kind: "static" | "dynamic";
}

/** Whether a package may import another one, by the floors alone. */
export function mayImport(floors: readonly Floor[], from: string, to: string): boolean {
  const above = floors.find(({ packages }) => packages.includes(from));
  const below = floors.find(({ packages }) => packages.includes(to));
  if (above === undefined || below === undefined) return false;
  if (above !== below) return above.number > below.number;
  return above.leftwards && above.packages.indexOf(to) < above.packages.indexOf(from);
}

/** The package that a bare specifier names. */
export function packageNamed(specifier: string): string {
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

/** Imports that go upwards, sideways, into another package's files, or through an alias that no exception names. */
export function floorViolations(
  sources: readonly Source[],
  packages: readonly PackageInfo[],
  floors: readonly Floor[],
  exceptions: readonly Exception[],
): string[] {
  return sources.flatMap((source) => {
    const from = folderOf(source.path);
    if (from === undefined) return [];
    return importsIn(source)
      .filter(({ specifier, kind }) => {
        const excepted = exceptions.some(
          (one) => source.path.startsWith(one.files) && one.specifier === specifier && covers(one.kind, kind),
        );
        return !excepted && isUpward(source.path, from, specifier, packages, floors);
      })
      .map(({ specifier, kind }) => `${source.path} imports ${specifier} (${kind})`);
  });
}

/** An exception for `import()` is none for a static import; one for a static import is one for its types as well. */
function covers(allowed: "static" | "dynamic", kind: string): boolean {
  return allowed === "static" ? kind !== "dynamic" : kind === "dynamic";
}

function isUpward(
  path: string,
  from: string,
  specifier: string,
  packages: readonly PackageInfo[],
  floors: readonly Floor[],
): boolean {
  if (specifier.startsWith("#")) return true;
  if (specifier.startsWith(".")) {
    const target = resolveFrom(path, specifier);
    const to = folderOf(target);
    // A test may use what crosses packages, which lies beside them.
    if (to === undefined) return !(isTest(path) && target.startsWith("test/support/"));
    return to !== from;
  }
  const to = packages.find(({ name }) => name === packageNamed(specifier));
  return to !== undefined && to.folder !== from && !mayImport(floors, from, to.folder);
}

/** Exceptions that nothing uses any more. */
export function unusedExceptions(sources: readonly Source[], exceptions: readonly Exception[]): string[] {
  return exceptions
    .filter(
      (one) =>
        !sources.some(
          (source) =>
            source.path.startsWith(one.files) &&
            importsIn(source).some(
              ({ specifier, kind }) => specifier === one.specifier && covers(one.kind, kind),
            ),
        ),
    )
    .map(({ files, specifier }) => `${files} does not import ${specifier}`);
}

/** Dependencies of a package.json that the floors forbid, and packages of ours that are imported and not declared. */
export function manifestViolations(
  sources: readonly Source[],
  packages: readonly PackageInfo[],
  floors: readonly Floor[],
  exceptions: readonly { readonly from: string; readonly to: string }[],
): string[] {
  return packages.flatMap((one) => {
    const declared = new Set([...one.dependencies, ...one.peerDependencies]);
    const forbidden = packages
      .filter(({ name }) => declared.has(name) || one.devDependencies.includes(name))
      .filter(({ folder }) => !mayImport(floors, one.folder, folder))
      .filter(({ name }) => !exceptions.some(({ from, to }) => from === one.name && to === name))
      .map(({ name }) => `${one.name} depends on ${name}`);
    const own = sources.filter(({ path }) => folderOf(path) === one.folder);
    const undeclared = own.flatMap((source) =>
      importsIn(source)
        .map(({ specifier }) => packageNamed(specifier))
        .filter((name) => name !== one.name && packages.some((other) => other.name === name))
        .filter((name) => !declared.has(name) && !(isTest(source.path) && one.devDependencies.includes(name)))
        .map((name) => `${source.path} imports ${name}, which ${one.name} does not declare`),
    );
    return [...forbidden, ...undeclared];
  });
}
