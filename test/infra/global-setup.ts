import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the graphs that this run has recorded. */
    graphs: string;
  }
}

export default function setup({ provide }: TestProject): () => void {
  const graphs = mkdtempSync(join(tmpdir(), "ghouls-graphs-"));
  provide("graphs", graphs);
  return () => rmSync(graphs, { recursive: true });
}
