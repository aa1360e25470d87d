import type { WorkflowPin } from "@ghouls/core";
import type { Manifest } from "./code.ts";

/** A workflow whose digest is another one than before. */
export interface Change {
  readonly name: string;
  readonly version: number;
  /** Undefined where it is new. */
  readonly from: string | undefined;
  /** Undefined where it is gone. */
  readonly to: string | undefined;
}

/** What has changed between two manifests, by name. */
export function changesBetween(before: Manifest, after: Manifest): readonly Change[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return keys
    .filter((key) => before[key] !== after[key])
    .map((key) => ({ ...nameAndVersion(key), from: before[key], to: after[key] }));
}

/** What a manifest can carry. */
export function pinsOf(manifest: Manifest): readonly WorkflowPin[] {
  return Object.entries(manifest).map(([key, digest]) => ({ ...nameAndVersion(key), digest }));
}

function nameAndVersion(key: string): { readonly name: string; readonly version: number } {
  const at = key.lastIndexOf("@");
  return { name: key.slice(0, at), version: Number(key.slice(at + 1)) };
}

/** The pins that nobody carries any more after these changes. */
export function leftPins(changes: readonly Change[]): readonly WorkflowPin[] {
  return changes.flatMap(({ name, version, from }) =>
    from === undefined ? [] : [{ name, version, digest: from }],
  );
}

/** A line for each change: `release-gate@1: abc… → def…, 2 runs are pinned to the old one`. */
export function describeChanges(
  changes: readonly Change[],
  open: readonly (WorkflowPin & { readonly runs: number })[],
): readonly string[] {
  return changes.map((change) => {
    const { name, version, from, to } = change;
    const runs = open.find((pin) => pin.name === name && pin.version === version)?.runs ?? 0;
    return `${name}@${version}: ${move(from, to)}${pinnedWords(runs)}`;
  });
}

function move(from: string | undefined, to: string | undefined): string {
  if (from === undefined) return `${short(to)} is new`;
  if (to === undefined) return `${short(from)} is gone`;
  return `${short(from)} → ${short(to)}`;
}

function pinnedWords(runs: number): string {
  if (runs === 0) return "";
  return runs === 1 ? ", 1 run is pinned to the old one" : `, ${runs} runs are pinned to the old one`;
}

/** As much of a digest as tells it from others. */
export function short(digest = ""): string {
  return digest.length > 8 ? `${digest.slice(0, 8)}…` : digest;
}
