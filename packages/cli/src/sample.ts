/** The two files that `ghouls init` writes, by their paths. */
export const SAMPLE: Readonly<Record<string, string>> = {
  "ghouls.config.ts": `import { defineConfig } from "ghouls";
// Node runs these files as they are, so the import names the file that exists. TypeScript takes that only with
// \`allowImportingTsExtensions\` in tsconfig.json (TS5097); with it, the next line can go.
// @ts-ignore
import { hello } from "./workflows/hello.ts";

export default defineConfig({
  workflows: [hello],
  examples: [{ workflow: "hello", input: { name: "world" } }],
});
`,
  "workflows/hello.ts": `import { workflow } from "ghouls";
import * as z from "zod";

export const hello = workflow({
  name: "hello",
  version: 1,
  // What becomes of a run whose worker was lost: "resume" is your word that its steps may be repeated.
  onWorkerLoss: "resume",
  input: z.object({ name: z.string() }),
  output: z.object({ greeting: z.string() }),
  async run(ctx, { name }) {
    // The result is kept before the code goes on: a run that is resumed does not greet again.
    const greeting = await ctx.step("greet", () => \`Hello, \${name}.\`);
    return { greeting };
  },
});
`,
};
