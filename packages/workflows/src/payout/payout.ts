import { NonRetryableError, workflow } from "ghouls";
import * as z from "zod";
import { lookUp, pay, reverse } from "./bank.ts";

const Input = z.strictObject({
  payments: z
    .array(z.strictObject({ to: z.string().min(1).max(200), cents: z.int().min(1) }))
    .min(1)
    .max(1_000),
  /** What the payments may come to; a batch above it is taken back as a whole. */
  limitCents: z.int().min(0).optional(),
});

const Output = z.object({ payments: z.int(), cents: z.int() });

/**
 * Pays many people, all or none. Each payment is an effect that happens once: where nobody knows whether it has, the bank is
 * asked, and nothing is paid again. If the batch fails or is cancelled, what may have been paid is taken back, the last payment
 * first; the run is FAILED or CANCELLED when all of it is.
 */
export const payout = workflow({
  name: "payout",
  version: 1,
  onWorkerLoss: "resume",
  input: Input,
  output: Output,
  module: import.meta.url,
  async run(ctx, { payments, limitCents }) {
    await ctx.map(
      "payments",
      payments,
      (payment) =>
        ctx.step("pay", ({ idempotencyKey }) => pay({ key: idempotencyKey, ...payment }), {
          effect: "once",
          probe: async ({ idempotencyKey }) => {
            const found = await lookUp(idempotencyKey);
            if (found === "unknown") return { outcome: "unknown" };
            return found === "paid"
              ? { outcome: "happened", result: undefined }
              : { outcome: "cannot_happen" };
          },
          undo: ({ stepIdempotencyKey }) => reverse(stepIdempotencyKey),
          tries: 3,
          timeout: "30s",
        }),
      { concurrency: 10 },
    );
    const cents = payments.reduce((sum, payment) => sum + payment.cents, 0);
    if (limitCents !== undefined && cents > limitCents)
      throw new NonRetryableError(`the payments come to ${cents} cents, and ${limitCents} are the limit`);
    return { payments: payments.length, cents };
  },
});
