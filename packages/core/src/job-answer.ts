import * as z from "zod";
import type { JobAnswer, JobReport } from "./services.ts";

/** What is taken of the explanation of an answer that is none, in UTF-16 units. */
const MAX_WHY = 2_000;

const simple = (state: "accepted" | "running" | "cancelled") => z.object({ state: z.literal(state) });

/** What services say of a job, in answers and in callbacks. Members that it does not know are dropped. */
export const JobReportShape = z.discriminatedUnion("state", [
  simple("accepted"),
  simple("running"),
  simple("cancelled"),
  z.object({ state: z.literal("succeeded"), result: z.unknown().optional() }),
  z.object({
    state: z.literal("failed"),
    // However long its words are: a failure that was told is one. What is kept of them is cut.
    error: z.object({ code: z.string(), message: z.string() }),
  }),
]);

const AnswerShape = z.discriminatedUnion("state", [
  ...JobReportShape.options,
  z.object({ state: z.literal("absent") }),
  z.object({
    state: z.enum(["unsent", "unknown"]),
    why: z.string().transform((why) => why.slice(0, MAX_WHY)),
  }),
]);

/** What a service reports. It is somebody's server: undefined for what is no report. */
export function readJobReport(said: unknown): JobReport | undefined {
  return JobReportShape.safeParse(said).data;
}

/** What an adapter answered, which is the user's code, or came from another function: what is no answer is unknown. */
export function readJobAnswer(said: unknown): JobAnswer {
  const { data, error } = AnswerShape.safeParse(said);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  const where = issue?.path.join(".") ?? "";
  return {
    state: "unknown",
    why: `the adapter answered what is no answer: ${where === "" ? "" : `${where}: `}${issue?.message}`,
  };
}
