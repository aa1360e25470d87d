import type { Duration, JobAnswer, JobRef, JobSubmission, Service, ServiceTraits } from "@ghouls/core";
import type * as z from "zod";
import { checkedOptions } from "./http-service-options.ts";
import { createJobExchange } from "./job-exchange.ts";
import type { Headers } from "./job-headers.ts";
import { isSuccess, unknown, type BareMeaning } from "./job-reply.ts";

export interface HttpServiceOptions<Request, Result> {
  /** Where jobs are posted, without credentials; `<url>/<key>` is the job. */
  readonly url: string;
  /** What a job is asked with. What this schema gives is sent. */
  readonly request: z.ZodType<Request>;
  /** What a job that succeeded brings. */
  readonly result: z.ZodType<Result>;
  /**
   * Such as an authorization; asked for at each question, so that a token may change. Not what frames a request, or holds
   * for one connection only: `content-length`, `transfer-encoding`, `connection`, `host`, `expect`, `proxy-*` and the like.
   */
  readonly headers?: () => Headers | Promise<Headers>;
  /** What a lookup proves; "advisory" by default. */
  readonly lookup?: ServiceTraits["lookup"];
  /** What a second submission with the same key does; "once" by default. */
  readonly submit?: ServiceTraits["submit"];
  /** What a cancel proves; "advisory" by default. */
  readonly cancel?: ServiceTraits["cancel"];
  /** After which a lookup, or a cancel, sees what had been accepted before; "5s" by default. */
  readonly delay?: Duration;
  /**
   * How long a key is known, from when it may have been posted first; for ever by default. Many services forget a key after a
   * day: what they do not find then proves nothing, and is not posted again.
   */
  readonly remembers?: Duration;
  /** From the acceptance to the first lookup; "30s" by default. Null: it is not asked, because it calls back. */
  readonly poll?: Duration | null;
  /**
   * How long one question may take; "10s" by default. At most that, because a job has ten seconds of a pass of the
   * reconciler, and at most `timing.actsMargin`: `defineConfig` refuses more.
   */
  readonly timeout?: Duration;
  /** How long a job may say nothing before nobody knows of it; as long as it likes by default. */
  readonly heartbeat?: Duration;
}

/**
 * A service over HTTP. It speaks thus, with the same key for one job always, and JSON reports:
 * `{"state":"accepted"}`, `"running"`, `"cancelled"`, `{"state":"succeeded","result":…}` or
 * `{"state":"failed","error":{"code":"…","message":"…"}}`.
 *
 * | question | request                                                              | a reply says                                             |
 * | -------- | -------------------------------------------------------------------- | -------------------------------------------------------- |
 * | submit   | `POST <url>`, the request as JSON, `Idempotency-Key: <key>`; where it | 2xx: its report, or accepted where it is empty; 409: it  |
 * |          | can be called back `Ghouls-Callback-Url` and `Ghouls-Callback-Token`  | has the key, so one lookup is made at once (absent there |
 * |          |                                                                      | says nothing)                                            |
 * | lookup   | `GET <url>/<key>`                                                    | 2xx: its report; 404 or 410: absent                      |
 * | cancel   | `DELETE <url>/<key>`                                                 | 2xx: its report; 204: cancelled; empty 202: asked for,   |
 * |          |                                                                      | and running still; 404 or 410: absent                    |
 *
 * A report that the job has failed counts with any status. All else is unknown: other statuses, other texts, redirects, and
 * no answer in time. A bare 4xx to a submission is no failure either: the same key may have been accepted before. So is an
 * answer that repeats the callback's token or a secret that `headers` gave, which would be kept: the value of a header whose
 * name holds `authorization`, `cookie`, `key`, `token`, `secret`, `password`, `signature` or `session`. A submission is one
 * POST, and never repeated by itself.
 *
 * A submission is unsent where it is certain that nothing of it has left: `headers` threw or gave what cannot be sent, the
 * address is refused or its name cannot be resolved, or there was no connection; over https that is one to a server that has
 * proven to be the host. From the moment at which there was one, however short, what came of it is unknown.
 *
 * What the service promises is declared, and believed:
 *
 * | option   | value           | promise                                                                                     |
 * | -------- | --------------- | ------------------------------------------------------------------------------------------- |
 * | `lookup` | "authoritative" | who asks later than `delay` after the last moment at which it may have been sent, and is    |
 * |          |                 | told 404 or 410, knows that the key was not accepted, and that nothing of it comes any more |
 * |          | "advisory"      | what it finds is true; what it does not find proves nothing                                 |
 * |          | "none"          | nothing can be looked up                                                                    |
 * | `submit` | "idempotent"    | the same key is the same job, however often it is posted                                    |
 * |          | "once"          | a second POST would be a second job: there is none                                          |
 * | `cancel` | "final"         | a cancelled key stays cancelled, also for a POST that arrives later                         |
 * |          | "advisory"      | cancelled is what had arrived `delay` before the cancel                                     |
 * |          | "none"          | nothing can be cancelled                                                                    |
 *
 * A lookup that finds a job proves that it was accepted and how it stands, and nothing of what it will do. One that finds none
 * proves something only where it is authoritative and was asked late enough, and within `remembers`, and only then, if the submission is idempotent
 * too, is the job posted again. Whoever routes another server's 404 to this address breaks that promise.
 * @throws GhoulsError configuration_invalid for options that are none
 */
export function httpService<Request, Result>(
  options: HttpServiceOptions<Request, Result>,
): Service<Request, Result> {
  const { address, traits, times } = checkedOptions(options);
  const exchange = createJobExchange(options.headers);
  return {
    adapter: "http",
    version: "1",
    identity: { url: address.href },
    request: options.request,
    result: options.result,
    traits,
    times,
    submit: async (job, context) => {
      const posted = { method: "POST" as const, url: address, bare: isTaken, ...submissionOf(job) };
      const { status, said } = await exchange(posted, context);
      if (status !== 409 || said.state !== "unknown" || traits.lookup === "none") return said;
      // It has the key, by its word; whether it is this job, and how it stands, a lookup says.
      const asked = { ...lookupOf(address, job), token: posted.token };
      const found = (await exchange(asked, context)).said;
      return found.state === "absent" ? unknown("it answered 409, and does not find the key") : found;
    },
    lookUp: async (job, context) =>
      traits.lookup === "none"
        ? unknown("it cannot be looked up")
        : (await exchange(lookupOf(address, job), context)).said,
    cancel: async (job, context) =>
      traits.cancel === "none"
        ? unknown("it cannot be cancelled")
        : (await exchange({ method: "DELETE", url: jobAddress(address, job), bare: isCancelled }, context))
            .said,
  };
}

function submissionOf({ requestText, idempotencyKey, callback }: JobSubmission) {
  return {
    body: requestText,
    headers: {
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
      ...(callback === null
        ? {}
        : { "ghouls-callback-url": callback.url, "ghouls-callback-token": callback.token }),
    },
    token: callback?.token,
  };
}

function lookupOf(address: URL, job: JobRef) {
  return { method: "GET" as const, url: jobAddress(address, job), bare: isAbsent };
}

/** @throws Error for a key that a URL cannot hold as one segment of its path, such as ".." */
function jobAddress(address: URL, { idempotencyKey }: JobRef): URL {
  const url = new URL(address);
  const segment = encodeURIComponent(idempotencyKey);
  url.pathname = `${address.pathname.replace(/\/$/, "")}/${segment}`;
  if (segment === "" || !url.pathname.endsWith(`/${segment}`)) throw new Error("the key fits no URL");
  return url;
}

const isTaken: BareMeaning = (status, empty) =>
  isSuccess(status) && empty ? { state: "accepted" } : undefined;

const isAbsent = (status: number): JobAnswer | undefined =>
  status === 404 || status === 410 ? { state: "absent" } : undefined;

const isCancelled: BareMeaning = (status, empty) => {
  if (status === 204) return { state: "cancelled" };
  return status === 202 && empty ? { state: "running" } : isAbsent(status);
};
