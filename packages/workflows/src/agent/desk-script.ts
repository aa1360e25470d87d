import type { Move, Seen } from "./scripted-model.ts";

/** What the example's models do: they look the order up that the goal names, and send its money back where it says so. */
export function deskScript({ goal, deeds }: Seen): Move {
  const order = /\b[0-9]{4}\b/.exec(goal)?.[0];
  if (order === undefined) return { say: "Which order is it? I need its number, such as 1001." };
  const [looked, paid] = deeds;
  if (looked === undefined) {
    return { say: `I look order ${order} up. `, calls: [{ tool: "find_order", input: { order } }] };
  }
  const { item, cents, state } = valueOf(looked.output);
  if (typeof item !== "string" || typeof cents !== "number") return { say: `There is no order ${order}.` };
  if (!/refund/i.test(goal)) return { say: `Order ${order}, ${item}, is ${String(state)}.` };
  if (paid === undefined) {
    const input = { order, cents, reason: goal.slice(0, 200) };
    return { say: `I ask for a refund of ${cents} cents. `, calls: [{ tool: "refund", input }] };
  }
  return typeof valueOf(paid.output)["refundedCents"] === "number"
    ? { say: `Order ${order}, ${item}: ${cents} cents were sent back.` }
    : { say: `Order ${order} was not refunded: ${JSON.stringify(paid.output)}` };
}

/** What a tool has answered, if it has. */
function valueOf(output: unknown): Readonly<Record<string, unknown>> {
  const { type, value } = output as { type?: unknown; value?: unknown };
  return type === "json" && typeof value === "object" && value !== null ? { ...value } : {};
}
