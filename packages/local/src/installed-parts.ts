import type { Parts } from "./parts.ts";

/**
 * The parts that are installed beside this package, loaded when they are needed: the Node release is checked before,
 * and the bin of `ghouls` loads this package itself (design.md §7).
 */
export async function installedParts(): Promise<Parts> {
  const [ghouls, ledger] = await Promise.all([import("ghouls"), import("@ghouls/ledger")]);
  return {
    loadConfig: (path) => ghouls.loadConfig(path),
    ledger,
    handlers: import.meta.resolve("ghouls"),
    functions: import.meta.resolve("@ghouls/functions"),
  };
}
