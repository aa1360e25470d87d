import { inject } from "vitest";
import type { Graph } from "@ghouls/localstack-utils";
import { VARIANTS, recordVariant, type VariantName } from "./variants.ts";

const graphs = new Map<VariantName, Promise<Graph>>();

/** The graph of a variant. Each is recorded once in a test file. */
export async function recorded(name: VariantName): Promise<Graph> {
  const graph = graphs.get(name) ?? recordVariant(VARIANTS[name], inject("built"));
  graphs.set(name, graph);
  return structuredClone(await graph);
}
