import { workflow } from "ghouls";
import * as z from "zod";

export const purchase = workflow({
  name: "purchase",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ amount: z.number() }),
  output: z.object({ bought: z.boolean() }),
  async run(ctx, { amount }) {
    const deciders = ["role:legal"];
    const consent = await ctx.consent("buy it", { deciders, expires: "3d", detail: { amount } });
    if (consent.outcome !== "GRANTED") return { bought: false };
    const paid = await ctx.waitForSignal("paid", { timeout: "7d" });
    return { bought: paid.outcome === "RECEIVED" };
  },
});
