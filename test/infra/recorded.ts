import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import type { Graph } from "@ghouls/localstack-utils";
import { VARIANTS, recordVariant, type VariantName } from "./variants.ts";

/** The graph of a variant. Each is recorded once in a run of the tests. */
export async function recorded(name: VariantName): Promise<Graph> {
  const file = join(inject("graphs"), `${name}.json`);
  if (!existsSync(file))
    writeFileSync(file, JSON.stringify(await recordVariant(VARIANTS[name], inject("built"))));
  return JSON.parse(readFileSync(file, "utf8")) as Graph;
}
