import * as z from "zod";

const oneOrMore = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (typeof value === "string" ? [value] : value));

const Statement = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(["Allow", "Deny"]),
  Principal: z
    .union([
      z.literal("*").transform((): Record<string, string[]> => ({ "*": ["*"] })),
      z.record(z.string(), oneOrMore),
    ])
    .optional(),
  Action: oneOrMore.optional(),
  NotAction: oneOrMore.optional(),
  Resource: oneOrMore.optional(),
  NotResource: oneOrMore.optional(),
  Condition: z.record(z.string(), z.record(z.string(), oneOrMore)).optional(),
});
export type Statement = z.output<typeof Statement>;

const Document = z.object({
  Version: z.literal("2012-10-17"),
  Statement: z.union([z.array(Statement), Statement.transform((one) => [one])]),
});

/** A text that holds JSON, which is read by another schema. */
export function json<T extends z.ZodType>(schema: T) {
  return z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);
}

/** A policy as text or as an object; gives its statements. */
export const Policy = z.union([json(Document), Document]).transform((document) => document.Statement);
