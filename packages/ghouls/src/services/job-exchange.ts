import type { AskContext, JobAnswer } from "@ghouls/core";
import { NoAnswerError, guardedRequest, type GuardedRequest } from "./guarded-request.ts";
import { MAX_REPLY_BYTES, judgeReply, secretsOf, unknown, type BareMeaning } from "./job-reply.ts";

export type Headers = Readonly<Record<string, string>>;

/** One question to a service over HTTP. */
interface Question extends Pick<GuardedRequest, "method" | "url"> {
  readonly headers?: Headers;
  readonly body?: string;
  /** The callback's, which no answer may repeat. */
  readonly token?: string | undefined;
  readonly bare: BareMeaning;
}

/** Puts one question, once. The status is undefined where there was no answer. */
type JobExchange = (
  question: Question,
  context: AskContext,
) => Promise<{ readonly status?: number; readonly said: JobAnswer }>;

/** @param given headers of the user; those of the protocol come before them */
export function createJobExchange(given?: () => Headers | Promise<Headers>): JobExchange {
  return async ({ method, url, headers, body, token, bare }, { signal, origins }) => {
    let own: Headers;
    try {
      own = (await given?.()) ?? {};
    } catch {
      // What it threw may hold what it was to make.
      return { said: unknown("its headers could not be made, so it was not asked") };
    }
    try {
      const answer = await guardedRequest({
        method,
        url,
        headers: { ...own, accept: "application/json", "accept-encoding": "identity", ...headers },
        ...(body === undefined ? {} : { body }),
        maxBytes: MAX_REPLY_BYTES,
        signal,
        origins,
      });
      return { status: answer.status, said: judgeReply(answer, secretsOf(own, token), bare) };
    } catch (error) {
      if (error instanceof NoAnswerError) return { said: unknown(error.message) };
      throw error;
    }
  };
}
