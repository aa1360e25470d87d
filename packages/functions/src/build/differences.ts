import { isDeepStrictEqual } from "node:util";
import type { DigestBasis } from "@ghouls/core";

/** One thing that a digest is made of, and that is another now. */
export interface Difference {
  readonly what: "version" | "tag" | "module" | "input" | "output";
  readonly how: "added" | "removed" | "changed";
  /** Path of a module from the project's root, or of a part of a schema as a JSON pointer; "" for the whole. */
  readonly where: string;
}

/** What makes one digest another than the other. Empty where they are the same. */
export function differencesOf(before: DigestBasis, after: DigestBasis): Difference[] {
  return [
    ...(before.version === after.version ? [] : [changed("version")]),
    // How digests are made is another: everything may have moved with it.
    ...(before.tag === after.tag ? [] : [changed("tag")]),
    ...partsOf("input", before.input, after.input, ""),
    ...partsOf("output", before.output, after.output, ""),
    ...modulesOf(new Map(before.modules), new Map(after.modules)),
  ];
}

function changed(what: "version" | "tag"): Difference {
  return { what, how: "changed", where: "" };
}

function modulesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Difference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return paths.flatMap((where): Difference[] => {
    const how = howOf(before.get(where), after.get(where));
    return how === undefined ? [] : [{ what: "module", how, where }];
  });
}

/** The smallest parts that differ: a member of an object that both have is looked into. */
function partsOf(what: "input" | "output", before: unknown, after: unknown, where: string): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) {
    const how = where === "" ? howOf(before ?? undefined, after ?? undefined) : "changed";
    return [{ what, how: how ?? "changed", where }];
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.flatMap((name): Difference[] => {
    const path = `${where}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const [one, other] = [own(before, name), own(after, name)];
    if (one !== undefined && other !== undefined) return partsOf(what, one, other, path);
    return one === other ? [] : [{ what, how: one === undefined ? "added" : "removed", where: path }];
  });
}

function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function howOf<T>(before: T | undefined, after: T | undefined): Difference["how"] | undefined {
  if (before === after) return undefined;
  if (before === undefined) return "added";
  return after === undefined ? "removed" : "changed";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
