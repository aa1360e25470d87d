import * as z from "zod";
import type { JobAnswer, JobReport } from "./services.ts";

/** Longest code and message of a failed job that are kept, in UTF-16 units. */
const MAX_CODE = 200;
const MAX_MESSAGE = 2_000;

const simple = (state: "accepted" | "running" | "cancelled") => z.object({ state: z.literal(state) });

/** What services say of a job, in answers and in callbacks. Members that it does not know are dropped. */
export const JobReportShape = z.discriminatedUnion("state", [
  simple("accepted"),
  simple("running"),
  simple("cancelled"),
  z.object({ state: z.literal("succeeded"), result: z.unknown().optional() }),
  z.object({
    state: z.literal("failed"),
    error: z.object({ code: z.string().min(1).max(MAX_CODE), message: z.string().max(MAX_MESSAGE) }),
  }),
]);

const AnswerShape = z.discriminatedUnion("state", [
  ...JobReportShape.options,
  z.object({ state: z.literal("absent") }),
  z.object({ state: z.enum(["unsent", "unknown"]), why: z.string().max(MAX_MESSAGE) }),
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
