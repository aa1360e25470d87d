import * as z from "zod";
import type { AuthorityAnswer, GrantAnswer } from "./holdings.ts";

const Reason = z.string().transform((reason) => reason.toWellFormed().slice(0, 1_000));

const Authority = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("valid") }),
  z.object({ outcome: z.literal("revoked"), reason: Reason }),
]);

const Granted = z.discriminatedUnion("outcome", [
  z.object({
    outcome: z.literal("granted"),
    value: z.unknown().optional(),
    expiresAt: z.date().optional(),
    release: z
      .custom<() => void | Promise<void>>((value) => typeof value === "function", "must be a function")
      .optional(),
  }),
  z.object({ outcome: z.literal("refused"), reason: Reason }),
]);

/**
 * What an authority check has answered: code of users makes it, and types alone hold nobody.
 * @throws Error for anything that is no answer: then nobody knows
 */
export function readAuthorityAnswer(answer: unknown): AuthorityAnswer {
  const parsed = Authority.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new Error(`that is no answer of an authority check: ${issueOf(parsed.error)}`);
}

/**
 * The same of a provider of grants.
 * @throws Error for anything that is no answer: then nobody knows
 */
export function readGrantAnswer(answer: unknown): GrantAnswer {
  const parsed = Granted.safeParse(answer);
  if (!parsed.success) throw new Error(`that is no answer of a grant provider: ${issueOf(parsed.error)}`);
  if (parsed.data.outcome === "refused") return parsed.data;
  const { value, expiresAt, release } = parsed.data;
  return {
    outcome: "granted",
    value,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    // As a method of what was answered, where it is one.
    ...(release === undefined ? {} : { release: () => release.call(answer) }),
  };
}

function issueOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? "" : `${issue.path.map(String).join(".") || "it"}: ${issue.message}`;
}
