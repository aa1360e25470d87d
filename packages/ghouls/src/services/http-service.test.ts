import type { GhoulsError, JobAnswer, JobReport, JobSubmission } from "@ghouls/core";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { httpService, type HttpServiceOptions } from "./http-service.ts";

const TOKEN = "tok_0123456789abcdef";
const SECRET = "s3cret/0123456789";
const JOB: JobSubmission = {
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
  idempotencyKey: "a/b c",
  requestText: '{"n":1.0}',
  callback: { url: "https://ghouls.example/v1/attempts/1/callback", token: TOKEN },
};

interface Asked {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
let server: Server;
let origin: string;
let asked: Asked[] = [];
let answers: ((response: ServerResponse) => void)[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      asked.push({ line: `${method} ${url}`, headers, body: Buffer.concat(chunks).toString() });
      const answer = answers.shift();
      if (answer === undefined) response.destroy();
      else answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  answers = [];
});

const serviceWith = (options: Partial<HttpServiceOptions<unknown, unknown>> = {}) =>
  httpService<unknown, unknown>({
    url: `${origin}/jobs`,
    request: z.object({ n: z.number() }),
    result: z.unknown(),
    headers: () => ({ authorization: `Bearer ${SECRET}`, "x-team": "ghouls" }),
    ...options,
  });
const context = (signal = new AbortController().signal) => ({ signal, origins: [origin] });
const bare =
  (status: number, text = "", type = "application/json") =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": type }).end(text);
const says = (status: number, body: unknown) => bare(status, JSON.stringify(body));

type Question = "submit" | "lookUp" | "cancel";
const QUESTIONS: readonly Question[] = ["submit", "lookUp", "cancel"];
async function put(
  question: Question,
  given: readonly ((response: ServerResponse) => void)[],
  options: Partial<HttpServiceOptions<unknown, unknown>> = {},
): Promise<JobAnswer> {
  answers = [...given];
  return serviceWith(options)[question](JOB, context());
}
const unknown = (why: unknown = expect.any(String)) => ({ state: "unknown", why });
/** Nothing was sent; only of a submission does that say anything. */
const unasked = (question: Question, why: unknown) => ({
  state: question === "submit" ? "unsent" : "unknown",
  why,
});

describe("a service over HTTP", () => {
  it("is posted the request's exact text once, with its key and where it may call back", async () => {
    expect(await put("submit", [says(201, { state: "accepted" })])).toEqual({ state: "accepted" });
    expect(asked).toEqual([
      {
        line: "POST /jobs",
        body: JOB.requestText,
        headers: expect.objectContaining({
          "content-type": "application/json",
          "idempotency-key": JOB.idempotencyKey,
          "ghouls-callback-url": JOB.callback?.url,
          "ghouls-callback-token": TOKEN,
          authorization: `Bearer ${SECRET}`,
          "x-team": "ghouls",
        }),
      },
    ]);
  });

  it("is given no address to call back where there is none", async () => {
    answers = [bare(202)];
    expect(await serviceWith().submit({ ...JOB, callback: null }, context())).toEqual({ state: "accepted" });
    expect(Object.keys(asked[0]?.headers ?? {}).filter((name) => name.startsWith("ghouls-"))).toEqual([]);
  });

  it("is asked for a job under its key, and to cancel it there, behind the query of its own address", async () => {
    await put("lookUp", [bare(404)]);
    await put("cancel", [bare(404)], { url: `${origin}/jobs/?v=2#x` });
    expect(asked.map(({ line }) => line)).toEqual(["GET /jobs/a%2Fb%20c", "DELETE /jobs/a%2Fb%20c?v=2"]);
    expect(asked[0]?.headers).toMatchObject({ authorization: `Bearer ${SECRET}` });
    expect(asked[0]?.headers["ghouls-callback-token"]).toBeUndefined();
  });

  it.each(["..", ".", ""])("is not asked for the key %j, which would be another address", async (key) => {
    const job = { ...JOB, idempotencyKey: key };
    await expect(serviceWith().lookUp(job, context())).rejects.toThrow("the key fits no URL");
    await expect(serviceWith().cancel(job, context())).rejects.toThrow("the key fits no URL");
    expect(asked).toEqual([]);
  });

  it("cannot have its protocol's headers replaced by the user's", async () => {
    const headers = () => ({ "Idempotency-Key": "mine-and-no-other", "Content-Type": "text/plain" });
    await put("submit", [bare(202)], { headers });
    expect(asked[0]?.headers).toMatchObject({
      "idempotency-key": JOB.idempotencyKey,
      "content-type": "application/json",
    });
  });

  it("declares what it was said to promise, and cautiously where nothing was said", () => {
    expect(serviceWith()).toMatchObject({
      adapter: "http",
      version: "1",
      identity: { url: `${origin}/jobs` },
      traits: { lookup: "advisory", submit: "once", cancel: "advisory", delaySeconds: 5 },
      times: { timeoutMs: 10_000, pollMs: 30_000, heartbeatMs: null },
    });
    const options = { lookup: "authoritative", submit: "idempotent", cancel: "final" } as const;
    expect(serviceWith().traits).not.toHaveProperty("remembersSeconds");
    const times = { delay: "1500ms", remembers: "1d", poll: null, timeout: "2s", heartbeat: "1m" } as const;
    expect(serviceWith({ ...options, ...times })).toMatchObject({
      traits: { ...options, delaySeconds: 2, remembersSeconds: 86_400 },
      times: { timeoutMs: 2_000, pollMs: null, heartbeatMs: 60_000 },
    });
  });
});

/** The reason is one of these texts, and so has nothing of the reply in it. */
const NO_REPORT =
  /^(its answer has more than \d+ bytes|it answered 200 with no report(: {"state":"accepted"} \(or "running", "cancelled"\), {"state":"succeeded","result":…} or {"state":"failed","error":{"code":"…","message":"…"}})?)$/;

describe("a reply", () => {
  const failed: JobReport = { state: "failed", error: { code: "no_paper", message: "out of paper" } };
  it.each<JobReport>([
    { state: "accepted" },
    { state: "running" },
    { state: "cancelled" },
    { state: "succeeded", result: { pages: [1, "é"] } },
    { state: "succeeded" },
    failed,
  ])("with the report %j says just that, to every question", async (report) => {
    for (const question of QUESTIONS) expect(await put(question, [says(200, report)])).toEqual(report);
  });

  it.each([400, 404, 409, 422, 500, 302])("of a failed job counts with %s too", async (status) => {
    for (const question of QUESTIONS) expect(await put(question, [says(status, failed)])).toEqual(failed);
  });

  it("of a job that has not failed counts with no other status than 2xx", async () => {
    const report = { state: "succeeded", result: 1 };
    for (const question of QUESTIONS) {
      expect(await put(question, [says(500, report)])).toEqual(unknown("it answered 500"));
      expect(await put(question, [says(302, report)])).toEqual(unknown("it answered 302"));
    }
    expect(await put("lookUp", [says(404, report)])).toEqual({ state: "absent" });
  });

  it.each<[Question, number, JobAnswer["state"]]>([
    ["submit", 200, "accepted"],
    ["submit", 202, "accepted"],
    ["submit", 204, "accepted"],
    ["submit", 400, "unknown"],
    ["submit", 401, "unknown"],
    ["submit", 404, "unknown"],
    ["submit", 410, "unknown"],
    ["submit", 422, "unknown"],
    ["submit", 503, "unknown"],
    ["submit", 307, "unknown"],
    ["lookUp", 200, "unknown"],
    ["lookUp", 204, "unknown"],
    ["lookUp", 404, "absent"],
    ["lookUp", 410, "absent"],
    ["lookUp", 403, "unknown"],
    ["lookUp", 500, "unknown"],
    ["lookUp", 301, "unknown"],
    ["cancel", 204, "cancelled"],
    ["cancel", 202, "running"],
    ["cancel", 200, "unknown"],
    ["cancel", 404, "absent"],
    ["cancel", 410, "absent"],
    ["cancel", 409, "unknown"],
    ["cancel", 405, "unknown"],
    ["cancel", 500, "unknown"],
  ])("to %s that is a bare %s is %s", async (question, status, state) => {
    expect((await put(question, [bare(status)])).state).toBe(state);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ["no JSON", "<html>state: succeeded</html>"],
    ["cut in half", '{"state":"succeeded","result":'],
    ["of another state", '{"state":"done","result":1}'],
    ["of the states that only an adapter may say", '{"state":"absent"}'],
    ["a list", '[{"state":"succeeded"}]'],
    ["a failure without words", '{"state":"failed"}'],
    ["white space", " "],
    ["nested too deep", `{"state":"succeeded","result":${"[".repeat(500)}${"]".repeat(500)}}`],
    ["nested deeper than any stack", "[".repeat(500_000)],
    ["a number that would change", '{"state":"succeeded","result":12345678901234567890}'],
    ["a key of prototypes", '{"state":"succeeded","result":{"__proto__":{"a":1}}}'],
    ["too large", `{"state":"succeeded","result":"${"x".repeat(1_100_000)}"}`],
  ])("that is %s is unknown, and nothing of it is repeated", async (_what, text) => {
    for (const question of QUESTIONS) {
      const said = await put(question, [bare(200, text)]);
      expect(said).toEqual(unknown(expect.stringMatching(NO_REPORT)));
    }
  });

  it("of JSON that is no report is told what a report is; what is no JSON, or a refusal, is not", async () => {
    const said = await put("lookUp", [says(200, { status: "done", canary: 1 })]);
    expect(said).toEqual(
      unknown(expect.stringMatching(/^it answered 200 with no report: {"state":"accepted"}/)),
    );
    expect(said).toEqual(unknown(expect.not.stringMatching(/canary|done/)));
    expect(await put("lookUp", [bare(200, "done")])).toEqual(unknown("it answered 200 with no report"));
    expect(await put("submit", [says(422, { status: "done" })])).toEqual(unknown("it answered 422"));
  });

  it("of the largest result that is kept is read", async () => {
    const result = "x".repeat(1_048_574);
    expect(await put("lookUp", [says(200, { state: "succeeded", result })])).toMatchObject({ result });
  });

  it("is what it is, whatever type it says that it has", async () => {
    expect(await put("lookUp", [bare(200, '{"state":"running"}', "text/html")])).toEqual({
      state: "running",
    });
  });

  it("that does not come in time is unknown", async () => {
    for (const question of QUESTIONS) {
      const deadline = new AbortController();
      answers = [() => deadline.abort()];
      const said = await serviceWith()[question](JOB, context(deadline.signal));
      expect(said).toEqual(unknown("it did not answer in time"));
    }
    expect(asked).toHaveLength(3);
  });

  it("that breaks off is unknown, and the submission is not repeated", async () => {
    expect(await put("submit", [(response) => void response.destroy()])).toEqual(unknown());
    expect(asked).toHaveLength(1);
  });
});

describe("a submission that is answered with 409", () => {
  it("is looked up at once, and is what that finds", async () => {
    const found = { state: "succeeded", result: 7 };
    expect(await put("submit", [bare(409, "{}"), says(200, found)])).toEqual(found);
    expect(asked.map(({ line }) => line)).toEqual(["POST /jobs", "GET /jobs/a%2Fb%20c"]);
  });

  it.each([
    ["finds nothing", bare(404)],
    ["fails", bare(500)],
    ["repeats the submission's token", says(200, { state: "succeeded", result: TOKEN })],
  ])("is unknown where the lookup %s", async (_what, answer) => {
    expect(await put("submit", [bare(409), answer], { lookup: "authoritative" })).toEqual(unknown());
    expect(asked).toHaveLength(2);
  });

  it("is unknown where nothing can be looked up, and nothing is asked", async () => {
    expect(await put("submit", [bare(409)], { lookup: "none" })).toEqual(unknown("it answered 409"));
    expect(asked).toHaveLength(1);
  });
});

describe("what a service cannot do", () => {
  it("is not asked of it", async () => {
    expect(await put("lookUp", [], { lookup: "none" })).toEqual(unknown("it cannot be looked up"));
    expect(await put("cancel", [], { cancel: "none" })).toEqual(unknown("it cannot be cancelled"));
    expect(asked).toEqual([]);
  });
});

describe("a secret", () => {
  const escaped = (text: string) =>
    Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  const whole = `Bearer ${SECRET}`;
  it.each([
    ["the token", "submit", `{"state":"succeeded","result":"${TOKEN}"}`],
    ["the token inside of more", "submit", `{"state":"succeeded","result":["Got ${TOKEN}!"]}`],
    ["the token with escapes", "submit", `{"state":"succeeded","result":"${escaped(TOKEN)}"}`],
    ["the token as a key", "submit", `{"state":"succeeded","result":{"${escaped(TOKEN)}":1}}`],
    ["a header's value", "lookUp", `{"state":"succeeded","result":{"a":[{"b":"${whole}"}]}}`],
    ["a header's credentials alone", "lookUp", `{"state":"succeeded","result":"${SECRET}"}`],
    ["credentials with a slash escaped", "cancel", `{"state":"succeeded","result":"s3cret\\/0123456789"}`],
    ["credentials as a failure", "cancel", `{"state":"failed","error":{"code":"a","message":"${SECRET}"}}`],
    [
      "credentials as a failure's code",
      "submit",
      `{"state":"failed","error":{"code":"${SECRET}","message":""}}`,
    ],
    ["credentials outside of the report", "lookUp", `{"state":"running","headers":"${SECRET}"}`],
    ["credentials in no JSON", "lookUp", SECRET],
  ] as const)("is kept out: an answer that repeats %s is unknown", async (_what, question, text) => {
    expect(await put(question, [bare(200, text)])).toEqual(unknown("its answer repeats a secret"));
  });

  it.each([
    "Authorization",
    "cookie",
    "X-API-Key",
    "x-amz-security-token",
    "Client-Secret",
    "x-password",
    "X-Hub-Signature-256",
    "x-session-id",
  ])("is what a header holds that is called %s", async (name) => {
    const headers = () => ({ [name]: "abcdefgh" });
    const said = await put("submit", [says(200, { state: "succeeded", result: "abcdefgh" })], { headers });
    expect(said).toEqual(unknown("its answer repeats a secret"));
  });

  it("is no word of another header: a result may hold it", async () => {
    const headers = () => ({ "x-environment": "production", "user-agent": "ghouls of acme" });
    const report = { state: "succeeded", result: "it is in production, by ghouls of acme" };
    expect(await put("submit", [says(200, report)], { headers })).toEqual(report);
  });

  it("is no short word: an answer may hold those", async () => {
    const report = { state: "succeeded", result: "for ghouls" };
    const headers = () => ({ "x-key": "ghouls" });
    expect(await put("submit", [says(200, report)], { headers })).toEqual(report);
  });

  it("that its maker could not make is asked for first: nothing is sent, and what it threw is not repeated", async () => {
    const headers = () => Promise.reject(new Error(`cannot refresh ${SECRET}`));
    for (const question of QUESTIONS)
      expect(await put(question, [], { headers })).toEqual(
        unasked(question, "its headers could not be made, so it was not asked"),
      );
    expect(asked).toEqual([]);
  });

  it("that a header cannot hold is not sent, and not repeated", async () => {
    const said = await put("submit", [], { headers: () => ({ authorization: `${SECRET}\r\nx: y` }) });
    expect(said).toEqual(unasked("submit", expect.stringContaining("ERR_INVALID_CHAR")));
    expect(JSON.stringify(said)).not.toContain(SECRET);
    expect(asked).toEqual([]);
  });
});

describe("an address that is not admitted", () => {
  it.each([
    "https://2130706433/jobs",
    "https://[::1]/jobs",
    "https://localhost/jobs",
    "http://jobs.example/",
  ])("is not asked: %s", async (url) => {
    for (const question of QUESTIONS) {
      const said = await serviceWith({ url })[question](JOB, { ...context(), origins: [] });
      expect(said).toEqual(unasked(question, expect.stringContaining("its address is refused")));
    }
  });

  it("is not asked: its own, where the origin is not named", async () => {
    const said = await serviceWith().submit(JOB, { ...context(), origins: ["http://127.0.0.1"] });
    expect(said).toEqual(unasked("submit", expect.stringContaining("egress.origins")));
    expect(asked).toEqual([]);
  });
});

describe("headers that are not the user's to give", () => {
  it.each([
    "Transfer-Encoding",
    "content-length",
    "Connection",
    "keep-alive",
    "TE",
    "trailer",
    "upgrade",
    "Expect",
    "host",
    "Proxy-Authorization",
    "proxy-connection",
  ])("are refused by name, and nothing is sent: %s", async (name) => {
    for (const question of QUESTIONS) {
      const said = await put(question, [bare(202)], { headers: () => ({ "x-a": "b", [name]: "chunked" }) });
      const why = `its headers could not be made, so it was not asked: they must not have ${name.toLowerCase()}`;
      expect(said).toEqual(unasked(question, why));
    }
    expect(asked).toEqual([]);
  });

  it("are those alone, and a submission has one length", async () => {
    const headers = () => ({ "x-host": "a", "content-language": "en", "x-proxy-for": "b", "te-x": "c" });
    expect(await put("submit", [bare(202)], { headers })).toEqual({ state: "accepted" });
    expect(asked[0]?.headers).toMatchObject({ ...headers(), "content-length": "9", connection: "close" });
    expect(asked[0]?.headers["transfer-encoding"]).toBeUndefined();
  });
});

describe("options of no service", () => {
  it.each<[string, object, string]>([
    ["user and password in the URL", { url: "https://user:hunter2@jobs.example/" }, "url"],
    ["a user in the URL", { url: "https://user@jobs.example/" }, "url"],
    ["another scheme", { url: "ftp://jobs.example/" }, "url"],
    ["no URL", { url: "jobs" }, "url"],
    ["no schema", { request: {} }, "request"],
    ["nothing for a schema", { result: null }, "result"],
    ["headers that are no function", { headers: { authorization: "hunter2" } }, "headers"],
    ["an unknown trait", { lookup: "perhaps" }, "lookup"],
    ["no duration", { delay: "5" }, "delay"],
    ["no time", { timeout: "0s" }, "timeout"],
    ["polls without a pause", { poll: "0ms" }, "poll"],
    ["a heartbeat of nothing", { heartbeat: "0s" }, "heartbeat"],
    ["a name that is none", { retries: 3 }, "retries"],
  ])("are refused by name: %s", (_what, change, name) => {
    let thrown: unknown;
    try {
      serviceWith(change);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "configuration_invalid", fix: expect.stringContaining(name) });
    const { message, fix, issues } = thrown as GhoulsError;
    expect(JSON.stringify({ message, fix, issues })).not.toContain("hunter2");
  });
});
