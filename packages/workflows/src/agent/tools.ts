import type { ProbeAnswer, ProbeContext, StepContext } from "ghouls";
import * as z from "zod";
import { orderOf } from "./orders.ts";
import { pay, payments } from "./payments.ts";

/**
 * What an agent can do. A tool gets its arguments, which its schema has let through, and the step's key and signal: no
 * credentials, no `ctx`, nothing of the run. None runs code, opens a shell, or takes a path or a URL from the model.
 */
export type Tool = HarmlessTool | DangerousTool;

interface Described {
  /** For the model. */
  readonly description: string;
  readonly input: z.ZodType;
}

/** May be repeated: it reads, or does the same again. */
interface HarmlessTool extends Described {
  readonly kind: "harmless";
  run(input: unknown, step: StepContext): unknown;
}

/** Happens once, and only where people have consented to exactly its arguments. */
interface DangerousTool extends Described {
  readonly kind: "dangerous";
  /** What people are asked; no word of the model is in it. */
  readonly question: string;
  run(input: unknown, step: StepContext): unknown;
  /** Whether an earlier call under this key has come to pass. It is asked when that call cannot act any more. */
  probe(input: unknown, step: ProbeContext): Promise<ProbeAnswer>;
}

const OrderNumber = z.string().regex(/^[0-9]{4}$/, 'four digits, such as "1001"');

const FindOrder = z.strictObject({ order: OrderNumber });
const Refund = z.strictObject({
  order: OrderNumber,
  cents: z.number().int().min(1).max(100_000),
  /** Shown to those who decide. */
  reason: z.string().max(200),
});

const findOrder: HarmlessTool = {
  kind: "harmless",
  description: "Looks an order up by its number: what was bought, its price in cents, and where it is.",
  input: FindOrder,
  run: (input) => {
    const { order } = FindOrder.parse(input);
    return orderOf(order) ?? { order, state: "unknown" };
  },
};

const refund: DangerousTool = {
  kind: "dangerous",
  question: "refund an order",
  description: "Sends the money of an order back, or a part of it. People are asked before.",
  input: Refund,
  run: async (input, { idempotencyKey: key }) => {
    const { order, cents } = Refund.parse(input);
    await pay({ key, order, cents });
    return { order, refundedCents: cents };
  },
  probe: async (input, { idempotencyKey: key }) => {
    const { order, cents } = Refund.parse(input);
    const made = (await payments()).some((payment) => payment.key === key);
    // The worker that asked for it is gone, and writes nothing any more.
    return made
      ? { outcome: "happened", result: { order, refundedCents: cents } }
      : { outcome: "cannot_happen" };
  },
};

/** By the names that models and profiles call them by; they are the names of their steps as well. */
export const TOOLS = { find_order: findOrder, refund } as const satisfies Record<string, Tool>;
export type ToolName = keyof typeof TOOLS;
