import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes files into a folder. */
export function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** The digest of every file of a folder by its path. */
export function digests(folder: string): Map<string, string> {
  return new Map(
    globSync("**/*", { cwd: folder })
      .concat(globSync("**/.*", { cwd: folder }))
      .filter((path) => statSync(join(folder, path)).isFile())
      .map((path) => [
        path,
        createHash("sha256")
          .update(readFileSync(join(folder, path)))
          .digest("hex"),
      ]),
  );
}

/** A ten-line workflow, as a user writes it. */
export const SUM = `import { workflow } from "ghouls";
import * as z from "zod";
export const sum = workflow({
  name: "sum", version: 1, onWorkerLoss: "resume",
  input: z.object({ terms: z.array(z.number()) }), output: z.object({ total: z.number() }),
  async run(ctx, { terms }) {
    const total = await ctx.step("add", () => terms.reduce((sum, term) => sum + term, 0));
    return { total };
  },
});
`;

/** What the compiler must refuse: it says so itself where a type has become \`any\` on its way. */
export const REFUSED = `import { defineConfig, workflow } from "ghouls";
import * as z from "zod";
import { sum } from "./workflows/sum.ts";

// @ts-expect-error a workflow says what becomes of a lost worker
workflow({ name: "a", version: 1, input: z.object({}), async run() {} });
workflow({
  name: "b", version: 1, onWorkerLoss: "fail", input: z.object({ count: z.number() }),
  async run(ctx, input) {
    // @ts-expect-error the input has no such field
    const missing: number = input.missing;
    // @ts-expect-error the step gives a number
    const wrong: string = await ctx.step("count", () => input.count + missing);
    return wrong;
  },
});
// @ts-expect-error a queue has no such setting
defineConfig({ workflows: [sum], queues: { runs: { colour: "red" } } });
`;

export const CONFIG = `import { defineConfig } from "ghouls";
import { hello } from "./workflows/hello.ts";
import { sum } from "./workflows/sum.ts";

export default defineConfig({
  workflows: [hello, sum],
  examples: [
    { workflow: "hello", input: { name: "world" } },
    { workflow: "sum", input: { terms: [1, 2, 3] } },
  ],
});
`;

/** A user's compiler options: what this package holds is checked as strictly as their own code. */
export function tsconfig(include: readonly string[], types: readonly string[]): string {
  const compilerOptions = {
    module: "nodenext",
    target: "es2024",
    strict: true,
    skipLibCheck: false,
    allowImportingTsExtensions: true,
    noEmit: true,
    types,
  };
  return JSON.stringify({ compilerOptions, include });
}
