import { defineConfig, workflow } from "ghouls";
import * as z from "zod";

/** A user's configuration in small. */
const double = workflow({
  name: "double",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ value: z.number() }),
  output: z.object({ value: z.number() }),
  run: async (ctx, { value }) => ({ value: await ctx.step("double", () => value * 2) }),
});

export default defineConfig({
  workflows: [double],
  examples: [
    { workflow: "double", input: { value: 21 } },
    { workflow: "double", input: { value: 4 } },
  ],
});
