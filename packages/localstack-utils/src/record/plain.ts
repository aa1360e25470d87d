import { relative } from "node:path";
import type { Engine } from "./engine.ts";
import type { Json, JsonObject } from "./graph.ts";

/** Pulumi's marks in the values that it sends: this key says that an object stands for something else. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** Turns values on their way to Pulumi's engine into JSON, and notes the paths of secrets. */
export function plainer(engine: Engine, root: string) {
  async function plain(value: unknown, path: string, secrets: string[]): Promise<Json> {
    if (value === undefined || value === null) return null;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    if (Array.isArray(value))
      return Promise.all(value.map((item, index) => plain(item, `${path}[${index}]`, secrets)));
    if (typeof value !== "object") throw new TypeError(`${path} is a ${typeof value}: it has no JSON`);
    const { Asset, Archive } = engine.pulumi.asset;
    if (Asset.isInstance(value) || Archive.isInstance(value)) return { $asset: await sourceOf(value, root) };
    if (engine.pulumi.Resource.isInstance(value))
      return { $resource: (value as { __name?: string }).__name ?? "" };
    const fields = value as Readonly<Record<string, unknown>>;
    if (fields[SIGNATURE] === SECRET) {
      secrets.push(path);
      return plain(fields["value"], path, secrets);
    }
    const entries = Object.entries(fields)
      // The serialized code of a dynamic provider names places on this machine, and is SST's own.
      .filter(([key, field]) => key !== "__provider" && field !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([key, field]) => [key, await plain(field, path === "" ? key : `${path}.${key}`, secrets)]);
    return Object.fromEntries(await Promise.all(entries)) as JsonObject;
  }
  return async (value: object, secrets: string[] = []): Promise<JsonObject> =>
    (await plain(value, "", secrets)) as JsonObject;
}

/** Where an asset's bytes come from: a path inside the project, or "inline". */
async function sourceOf(asset: object, root: string): Promise<string> {
  const path = await (asset as { path?: string | Promise<string> }).path;
  return path === undefined ? "inline" : relative(root, path);
}
