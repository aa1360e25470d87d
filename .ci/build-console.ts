import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

/**
 * `npm run build:console`: the console as the files that are served, in `packages/console/site`. With `--if-older` only where what
 * it is made of is newer.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "packages/console/site/index.html");
const MADE_OF = [
  "packages/console/app/**/*.{ts,tsx,css,html,svg}",
  "packages/console/vite.config.ts",
  "packages/{client,core}/src/**/*.ts",
  "package-lock.json",
];

/** Milliseconds since 1970; 0 where there is no such file. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isOlder(): boolean {
  const built = changedAt(page);
  return globSync(MADE_OF, { cwd: root }).some((file) => changedAt(join(root, file)) > built);
}

if (!process.argv.includes("--if-older") || isOlder()) {
  // Warnings are about Node's own modules, which the shared floor names and the console does not reach.
  await build({ configFile: join(root, "packages/console/vite.config.ts"), logLevel: "error" });
}
