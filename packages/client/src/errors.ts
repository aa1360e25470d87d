import { wire } from "@ghouls/core";

/** An answer that is no success. Compare `code`, never the message. */
export class ProblemError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** The last part of `type`, or `unexpected_answer` where the answer was no problem document. */
  readonly code: string;
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly fix: string | undefined;
  readonly requestId: string | undefined;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** Seconds of the answer's Retry-After header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    problem: wire.Problem | undefined,
    answer: { status: number; retryAfterSeconds: number | undefined },
  ) {
    const detail =
      problem?.detail ?? `The server answered ${answer.status} with something that is no answer of Ghouls.`;
    super(detail);
    this.name = "ProblemError";
    this.status = answer.status;
    this.type = problem?.type ?? "about:blank";
    this.code = problem?.type.split(":").at(-1) ?? "unexpected_answer";
    this.title = problem?.title ?? "Unexpected answer";
    this.detail = detail;
    this.fix =
      problem?.fix ?? (problem === undefined ? "Check that the address is that of a Ghouls API." : undefined);
    this.requestId = problem?.requestId;
    this.errors = problem?.errors ?? [];
    this.retryAfterSeconds = answer.retryAfterSeconds;
  }
}

/** No answer came: the server is out of reach, broke off or took too long. The request may have been carried out. */
export class UnreachableError extends Error {
  readonly fix: string;

  constructor(baseUrl: string, cause: unknown) {
    super(`${baseUrl} did not answer`, { cause });
    this.name = "UnreachableError";
    this.fix =
      "Check the address and that the API is running; then send the same request again under the same key.";
  }
}

/** The problem error of an answer whose text is `text`. */
export function problemErrorOf(response: Response, text: string): ProblemError {
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const answer = {
    status: response.status,
    retryAfterSeconds: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
  };
  return new ProblemError(problemIn(text), answer);
}

function problemIn(text: string): wire.Problem | undefined {
  try {
    return wire.Problem.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
