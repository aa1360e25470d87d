import type { AskContext, JobAnswer } from "@ghouls/core";
import { NoAnswerError, guardedRequest, type GuardedRequest } from "./guarded-request.ts";
import { framingHeaderOf, secretsOf, type Headers } from "./job-headers.ts";
import { MAX_REPLY_BYTES, judgeReply, unknown, type BareMeaning } from "./job-reply.ts";

/** One question to a service over HTTP. A POST is a submission, and nothing else is. */
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

type GivenHeaders = () => Headers | Promise<Headers>;

/** @param given headers of the user; those of the protocol come before them */
export function createJobExchange(given?: GivenHeaders): JobExchange {
  return async (question, { signal, origins }) => {
    const { method, url, headers, body, token, bare } = question;
    const made = await madeHeaders(given, token);
    if ("why" in made) return { said: unasked(question, made.why) };
    try {
      const answer = await guardedRequest({
        method,
        url,
        headers: { ...made.own, accept: "application/json", "accept-encoding": "identity", ...headers },
        ...(body === undefined ? {} : { body }),
        maxBytes: MAX_REPLY_BYTES,
        signal,
        origins,
      });
      return { status: answer.status, said: judgeReply(answer, made.secrets, bare) };
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      return { said: error.sent ? unknown(error.message) : unasked(question, error.message) };
    }
  };
}

/** The user's headers, and what of everything that is sent must not come back; or why there are none. */
async function madeHeaders(
  given: GivenHeaders | undefined,
  token: string | undefined,
): Promise<
  { readonly own: Headers; readonly secrets: ReturnType<typeof secretsOf> } | { readonly why: string }
> {
  const why = "its headers could not be made, so it was not asked";
  try {
    const own = (await given?.()) ?? {};
    const framing = framingHeaderOf(own);
    if (framing !== undefined) return { why: `${why}: they must not have ${framing}` };
    return { own, secrets: secretsOf(own, token) };
  } catch {
    // What it threw may hold what it was to make.
    return { why };
  }
}

/** Nothing was sent. Of a job that was submitted before, that says nothing. */
function unasked({ method }: Question, why: string): JobAnswer {
  return method === "POST" ? { state: "unsent", why } : unknown(why);
}
