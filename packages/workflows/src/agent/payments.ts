import { join, resolve } from "node:path";
import { notDone } from "ghouls";
import * as z from "zod";
import { append, entriesOf, openBook } from "../book.ts";

const Payment = z.strictObject({ key: z.string(), order: z.string(), cents: z.number().int() });

/** Money that went back. `key` is the step's: whoever asks later knows by it whether it did. */
export type Payment = z.infer<typeof Payment>;

/**
 * The bank of the example: a file with a line for each payment. It does not know keys by itself, and what is appended twice is
 * paid twice; that it is not is the engine's work. It stands for a service without idempotency, but with a look-up.
 * Folder AGENT_PAYMENTS, by default `output/payments` in the folder in which the worker was started.
 */
function fileIn(env: NodeJS.ProcessEnv): string {
  return join(resolve(env["AGENT_PAYMENTS"] || join("output", "payments")), "payments.jsonl");
}

/**
 * Pays: once it has returned, a loss of power does not take it back.
 * @throws NotDoneError where nothing can have been written; anything else is an unknown outcome
 */
export async function pay(payment: Payment, env = process.env): Promise<void> {
  await using book = await openBook(fileIn(env)).catch((error: unknown) => {
    throw notDone(error);
  });
  await append(book, payment);
}

/** Every payment that was made, in its order; half a line is none. */
export function payments(env = process.env): Promise<readonly Payment[]> {
  return entriesOf(fileIn(env), Payment);
}
