import { errorInLog, type wire } from "@ghouls/core";
import { answerWithin } from "../patience.ts";
import type { Pass } from "./pass.ts";

/**
 * What passes would do: one page of each, described. Writes nothing and asks nobody but the ledger; owners that stand aside are
 * among them.
 * @param withinMs what one pass may take, in milliseconds
 */
export async function lookOnly(
  passes: readonly Pass[],
  limit: number,
  withinMs: () => number,
): Promise<wire.PassAnswer[]> {
  const answers: wire.PassAnswer[] = [];
  for (const pass of passes) answers.push(await look(pass, limit, withinMs()));
  return answers;
}

async function look(pass: Pass, limit: number, withinMs: number): Promise<wire.PassAnswer> {
  const nothing = { pass: pass.name, did: "looked", repaired: 0, left: 0, failed: 0, degraded: 0 } as const;
  try {
    const { found, next } = await answerWithin(pass.find({ limit }), withinMs);
    const findings = found.map((due) => {
      const { tenantId, runId, owner } = due;
      return { tenantId, runId, owner, ...pass.describe(due) };
    });
    return { ...nothing, found: found.length, error: null, findings, more: next !== undefined };
  } catch (error) {
    // As a pass that was run says it: the words of a driver's error may quote rows of any tenant.
    return { ...nothing, found: 0, error: errorInLog(error), findings: [], more: true };
  }
}
