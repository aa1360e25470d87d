import type { JobReport } from "@ghouls/core";
import type { ServerResponse } from "node:http";
import type { Chance } from "./adversarial-jobs.ts";

/** What is to be said, before it is said badly. */
export interface Reply {
  readonly status: number;
  /** Absent for an empty body. */
  readonly report?: JobReport;
}

/** Ways to answer with the truth, however crooked: what they say counts as said. */
export const TELLING = ["plain", "late", "twice", "wrong type"] as const;
/** Ways to answer with nothing that means anything. */
const WORTHLESS = ["never", "409", "500", "garbage", "truncated", "huge", "reset", "redirect"] as const;
export const FORMS = [...TELLING, ...WORTHLESS] as const;
export type Form = (typeof FORMS)[number] | "echo";

/** Above what any adapter reads, and a report to its very end. */
const HUGE = Buffer.from(`{"state":"running","filler":"${"x".repeat(2_000_000)}"}`);

const GARBAGE = [
  "<html><body>It works!</body></html>",
  '{"state":"done","result":1}',
  '{"state":"absent"}',
  '{"state":"failed"}',
  '[{"state":"succeeded","result":1}]',
  '"succeeded"',
  "null",
  "succeeded",
  "[".repeat(200_000),
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
] as const;

/** Answers in this form; what is late is given back as a function that says it, what never comes is left open. */
export function answer(
  response: ServerResponse,
  reply: Reply,
  form: Form,
  {
    chance,
    token,
    here,
  }: { readonly chance: Chance; readonly token: string | undefined; readonly here: string },
): (() => void) | undefined {
  const text = reply.report === undefined ? "" : JSON.stringify(reply.report);
  const say = (status: number, body: string | Buffer = "", type = "application/json") =>
    void response.writeHead(status, body === "" ? {} : { "content-type": type }).end(body);
  switch (form) {
    case "plain":
      say(reply.status, text);
      return undefined;
    case "late":
      return () => say(reply.status, text);
    case "never":
      return undefined;
    case "twice": {
      const once = `HTTP/1.1 ${reply.status} Said\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${reply.status === 204 ? "" : text}`;
      response.socket?.end(
        reply.status === 204 ? once.replace(/content-length.*\r\n/, "").repeat(2) : once.repeat(2),
      );
      return undefined;
    }
    case "wrong type":
      say(reply.status, text, "text/html");
      return undefined;
    case "409":
      say(409);
      return undefined;
    case "500":
      say(chance.pick([500, 502, 503, 429]), chance.pick([text, "", "oops"]));
      return undefined;
    case "garbage":
      say(200, chance.pick(GARBAGE));
      return undefined;
    case "truncated":
      truncated(response, text === "" ? '{"state":"accepted"}' : text, chance.happens(0.5));
      return undefined;
    case "huge":
      say(200, HUGE);
      return undefined;
    case "reset":
      response.socket?.destroy();
      return undefined;
    case "redirect":
      response.writeHead(chance.pick([301, 302, 303, 307, 308]), { location: here }).end();
      return undefined;
    case "echo":
      say(200, JSON.stringify({ ...(reply.report ?? { state: "accepted" }), you_sent: token }));
      return undefined;
  }
}

/** Half of the text: with the length of the half, or with that of the whole and the connection cut. */
function truncated(response: ServerResponse, text: string, clean: boolean): void {
  const half = text.slice(0, text.length / 2);
  if (clean) response.writeHead(200, { "content-type": "application/json" }).end(half);
  else
    response
      .writeHead(200, { "content-type": "application/json", "content-length": text.length })
      .write(half, () => response.socket?.destroy());
}
