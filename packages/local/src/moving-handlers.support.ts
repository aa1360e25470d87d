import { readFileSync, writeFileSync } from "node:fs";

/** Stands for the user's package where somebody saves while code is read, twice. */

export function modulesOf(path: string) {
  return { modules: [path] };
}

export async function loadConfig(path: string) {
  await Promise.resolve();
  return { config: { path } };
}

export async function digestManifest({ path }: { readonly path: string }) {
  const saves = Number(readFileSync(path, "utf8")) || 0;
  writeFileSync(path, String(Math.min(saves + 1, 3)));
  await Promise.resolve();
  return {};
}
