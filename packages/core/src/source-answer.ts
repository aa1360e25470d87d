import * as z from "zod";
import type { SourceAnswer } from "./ports.ts";

const Answer = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("pending") }),
  z.object({
    outcome: z.enum(["grant", "deny"]),
    by: z.string().min(1).max(200),
    comment: z.string().max(4_000).optional(),
  }),
]);

/** Told from what a source has thrown by its name, which is all that a log has of it. */
class NoDecisionError extends Error {
  constructor(what: string) {
    super(`it answered what is no decision: ${what}`);
    this.name = "NoDecision";
  }
}

/**
 * What a decision source has answered. It is the user's code, or somebody's server: what is no answer decides nothing.
 * @throws NoDecisionError that says what is wrong with it
 */
export function readSourceAnswer(answer: unknown): SourceAnswer {
  const { data, error } = Answer.safeParse(answer);
  if (error !== undefined) {
    const [issue] = error.issues;
    const where = issue?.path.join(".") ?? "";
    throw new NoDecisionError(`${where === "" ? "" : `${where}: `}${issue?.message}`);
  }
  if (data.outcome === "pending") return { outcome: data.outcome };
  const { outcome, by, comment } = data;
  return { outcome, by, ...(comment === undefined ? {} : { comment }) };
}
