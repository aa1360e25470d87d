/** What a package is called where it is imported, and the folder that this leads to. Folders are real paths. */
export interface Link {
  /** Folder of the package that imports; null for the bundle itself. */
  readonly from: string | null;
  readonly name: string;
  readonly to: string;
}

/** Where the folder of a package is copied to, such as "node_modules/a/node_modules/b". */
export interface Placed {
  readonly folder: string;
  readonly at: string;
}

/** Two packages of one name that the bundle itself imports: one of both would be found for the other. */
export class TwoVersions extends Error {
  readonly folders: readonly [string, string];

  constructor(called: string, folders: readonly [string, string]) {
    super(`${called} is ${folders.join(" and ")}`);
    this.folders = folders;
  }
}

/**
 * Lays packages out so that Node's own look-up finds each under the name that it is imported by, without links: at the top,
 * unless another of that name lies on the way, then below the package that imports it.
 * @throws TwoVersions
 */
export function layout(links: readonly Link[]): Placed[] {
  const from = Map.groupBy(links.toSorted(byName), (link) => link.from);
  const taken = new Map<string, string>();
  const open: { folder: string | null; at: string }[] = [{ folder: null, at: "" }];
  // What a package imports is placed before anything that lies below it is looked at: no later one comes in between.
  for (const { folder, at } of open) {
    for (const { name, to } of from.get(folder) ?? []) {
      const found = lookUp(taken, at, name);
      if (found === to || to === folder) continue;
      const place = found === undefined ? below("", name) : below(at, name);
      const other = taken.get(place);
      if (other !== undefined) throw new TwoVersions(name, [other, to]);
      taken.set(place, to);
      open.push({ folder: to, at: place });
    }
  }
  return [...taken].map(([at, folder]) => ({ folder, at }));
}

/** The folder that Node finds for a name from a place: the nearest one on the way up. */
function lookUp(taken: ReadonlyMap<string, string>, at: string, name: string): string | undefined {
  for (let place = at; ; place = place.slice(0, Math.max(0, place.lastIndexOf("/node_modules/")))) {
    const found = taken.get(below(place, name));
    if (found !== undefined || place === "") return found;
  }
}

function below(place: string, name: string): string {
  return place === "" ? `node_modules/${name}` : `${place}/node_modules/${name}`;
}

function byName(a: Link, b: Link): number {
  return `${a.name} ${a.to}` < `${b.name} ${b.to}` ? -1 : 1;
}
