/** An order of the shop that the example asks about: made up from its number, so that no database is needed. */
export interface Order {
  readonly order: string;
  readonly item: string;
  readonly cents: number;
  readonly state: "packed" | "on its way" | "delivered";
}

const ITEMS = ["a lamp", "a kettle", "a pair of boots", "an umbrella", "a chess set"] as const;
const STATES = ["packed", "on its way", "delivered"] as const;

/** Orders "1001" to "1999" are there. */
export function orderOf(order: string): Order | undefined {
  const number = Number(order);
  if (!/^1[0-9]{3}$/.test(order) || number === 1000) return undefined;
  return {
    order,
    item: ITEMS[number % ITEMS.length] ?? ITEMS[0],
    cents: 500 + ((number * 37) % 9_000),
    state: STATES[number % STATES.length] ?? STATES[0],
  };
}
