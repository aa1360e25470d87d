import { workflow } from "ghouls";
import * as z from "zod";

export const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ name: z.string() }),
  output: z.object({ greeting: z.string() }),
  run: async (ctx, { name }) => ({ greeting: await ctx.step("greet", () => `Good evening, ${name}.`) }),
});
