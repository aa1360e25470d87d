import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { notDone } from "ghouls";
import * as z from "zod";
import { append, entriesOf, openBook } from "../book.ts";

const Movement = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("paid"), key: z.string(), to: z.string(), cents: z.int() }),
  z.strictObject({ kind: z.literal("reversed"), key: z.string() }),
]);

/** A line of the bank's book. `key` is the payment's. */
type Movement = z.infer<typeof Movement>;

export interface Payment {
  readonly key: string;
  readonly to: string;
  readonly cents: number;
}

/** How the bank of the example misbehaves: by the key of a payment, so that it is the same for every process. */
const LIES = [
  "pays, and answers with an error",
  "answers with an error, and has not paid",
  "pays, and does not know",
] as const;
type Lie = (typeof LIES)[number];

function lieAbout(key: string, env: NodeJS.ProcessEnv): Lie | undefined {
  if (env["PAYOUT_BANK_LIES"] !== "yes") return undefined;
  return LIES[createHash("sha256").update(key).digest().readUInt8(0) % 6];
}

/** Folder PAYOUT_BANK, by default `output/bank` in the folder in which the worker was started. */
function bookIn(env: NodeJS.ProcessEnv): string {
  return join(resolve(env["PAYOUT_BANK"] || join("output", "bank")), "book.jsonl");
}

async function write(movement: Movement, env: NodeJS.ProcessEnv): Promise<void> {
  await using book = await openBook(bookIn(env));
  await append(book, movement);
}

const movements = (env: NodeJS.ProcessEnv) => entriesOf(bookIn(env), Movement);

/**
 * Pays. What is asked for twice is paid twice, unless it was reversed before: then its key is barred.
 * @throws NotDoneError where the key is barred; anything else is an unknown outcome
 */
export async function pay(payment: Payment, env = process.env): Promise<void> {
  const lie = lieAbout(payment.key, env);
  if (lie === "answers with an error, and has not paid")
    throw new Error("504: the bank did not answer in time");
  const barred = (await movements(env)).some(({ kind, key }) => kind === "reversed" && key === payment.key);
  if (barred) throw notDone(new Error("the bank has reversed this key, and takes it no more"));
  await write({ kind: "paid", ...payment }, env);
  if (lie === "pays, and answers with an error") throw new Error("502: the bank's answer was lost");
}

/**
 * What became of a payment, to be asked when whoever asked for it can ask for it no more. "unknown" where the bank does not
 * answer that.
 */
export async function lookUp(key: string, env = process.env): Promise<"paid" | "not paid" | "unknown"> {
  if (lieAbout(key, env) === "pays, and does not know") return "unknown";
  const found = (await movements(env)).some((movement) => movement.kind === "paid" && movement.key === key);
  return found ? "paid" : "not paid";
}

/** Takes a payment back, whether or not it was made: its key is barred from now on. A second time changes nothing. */
export async function reverse(key: string, env = process.env): Promise<void> {
  if ((await movements(env)).some((movement) => movement.kind === "reversed" && movement.key === key)) return;
  await write({ kind: "reversed", key }, env);
}

/** What each payment comes to, by its key, in cents; 0 where it was taken back. `times` is how often it was paid. */
export async function balances(
  env = process.env,
): Promise<ReadonlyMap<string, { readonly cents: number; readonly times: number }>> {
  const found = await movements(env);
  const reversed = new Set(found.flatMap(({ kind, key }) => (kind === "reversed" ? [key] : [])));
  const sums = new Map<string, { cents: number; times: number }>();
  for (const movement of found) {
    if (movement.kind !== "paid") continue;
    const { cents, times } = sums.get(movement.key) ?? { cents: 0, times: 0 };
    const own = reversed.has(movement.key) ? 0 : movement.cents;
    sums.set(movement.key, { cents: cents + own, times: times + 1 });
  }
  return sums;
}
