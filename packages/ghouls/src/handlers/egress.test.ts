import { beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { AnyService, EgressEvent, JobAnswer } from "@ghouls/core";
import { createEgress, type EgressOverrides } from "./egress.ts";

const JOB = {
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
  idempotencyKey: "key-of-the-job",
};
const SUBMISSION = {
  ...JOB,
  requestText: '{"secret":"of the request"}',
  callback: { url: "https://api.example/v1/attempts/6f/callback", token: "a-callback-token" },
};
const NOW = 1_800_000_000_000;

const clock = { monotonicMs: () => performance.now(), wallMs: () => NOW };
let lines: string[];
beforeEach(() => {
  lines = [];
});

function service(over: Partial<AnyService> = {}): AnyService {
  return {
    adapter: "test",
    version: "1",
    identity: {},
    request: z.unknown(),
    result: z.unknown(),
    traits: { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds: 0 },
    times: { timeoutMs: 5_000, pollMs: null, heartbeatMs: null },
    submit: () => Promise.resolve({ state: "accepted" }),
    lookUp: () => Promise.resolve({ state: "absent" }),
    cancel: () => Promise.resolve({ state: "cancelled" }),
    ...over,
  };
}

interface Asking extends Omit<EgressOverrides, "write" | "clock"> {
  readonly service?: AnyService;
  readonly origins?: readonly string[];
  readonly remainingMs?: number;
}

function ask(event: unknown, { service: one = service(), origins = [], remainingMs, ...over }: Asking = {}) {
  const handler = createEgress(
    { services: { signer: one }, egress: { origins } },
    { variables: {}, write: (line) => void lines.push(line), clock, ...over },
  );
  return handler(event, { awsRequestId: "r", getRemainingTimeInMillis: () => remainingMs ?? 30_000 });
}

const submission = (over: Partial<EgressEvent> = {}): EgressEvent => ({
  service: "signer",
  question: { kind: "submit", job: SUBMISSION },
  timeoutMs: 5_000,
  untilMs: NOW + 5_000,
  ...over,
});

describe("a question", () => {
  it("is put to the service that it names, whole", async () => {
    const submit = vi.fn<AnyService["submit"]>(async () => ({ state: "accepted" }));
    expect(await ask(submission(), { service: service({ submit }) })).toEqual({ state: "accepted" });
    expect(submit).toHaveBeenCalledExactlyOnceWith(SUBMISSION, {
      signal: expect.any(AbortSignal),
      origins: [],
    });
  });

  it.each([
    ["lookUp", "absent"],
    ["cancel", "cancelled"],
  ] as const)("of the kind %s gets that answer", async (kind, state) => {
    expect(await ask(submission({ question: { kind, job: JOB } }))).toEqual({ state });
  });

  it("of a configuration's origins reaches them, but not on Lambda, where its own Runtime API listens", async () => {
    const submit = vi.fn<AnyService["submit"]>(async () => ({ state: "accepted" }));
    const origins = ["http://127.0.0.1:4801"];
    await ask(submission(), { service: service({ submit }), origins });
    await ask(submission(), {
      service: service({ submit }),
      origins,
      variables: { AWS_LAMBDA_FUNCTION_NAME: "egress" },
    });
    expect(submit.mock.calls.map(([, context]) => context.origins)).toEqual([origins, []]);
  });

  it("needs no connection string, no queue and no table", async () => {
    const variables = new Proxy(
      {},
      {
        get: (_target, name) => {
          if (/DATABASE|QUEUE|TABLE/.test(String(name))) throw new Error(`${String(name)} was read`);
          return undefined;
        },
      },
    );
    await expect(ask(submission(), { variables })).resolves.toEqual({ state: "accepted" });
  });

  it("leaves service, kind, state and time in the log, and nothing that it carries", async () => {
    const answers: JobAnswer = { state: "failed", error: { code: "E", message: "words of the service" } };
    await ask(submission(), { service: service({ submit: async () => answers }) });
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      {
        time: expect.any(String),
        level: "info",
        message: "a service was asked",
        service: "signer",
        kind: "submit",
        outcome: "failed",
        milliseconds: expect.any(Number),
      },
    ]);
  });
});

describe("what comes of no answer", () => {
  it("is unknown where the adapter throws, and its words are not logged", async () => {
    const submit = () => Promise.reject(new Error("refused by 10.0.0.7"));
    expect(await ask(submission(), { service: service({ submit }) })).toEqual({
      state: "unknown",
      why: "refused by 10.0.0.7",
    });
    expect(lines.join("")).toContain('"outcome":"failed"');
    expect(lines.join("")).not.toContain("10.0.0.7");
  });

  it("is unknown where the adapter throws before it gives a promise", async () => {
    const submit = () => {
      throw new Error("at once");
    };
    expect(await ask(submission(), { service: service({ submit }) })).toMatchObject({ why: "at once" });
  });

  it("is unknown after the question's time, and the adapter is told to stop", async () => {
    let stopped = false;
    const submit: AnyService["submit"] = (_job, { signal }) =>
      new Promise((_answer, reject) => {
        signal.addEventListener("abort", () => {
          stopped = true;
          reject(new Error("stopped"));
        });
      });
    const exit = vi.fn<() => void>();
    const asked = ask(submission({ timeoutMs: 20 }), { service: service({ submit }), exit });
    expect(await asked).toEqual({ state: "unknown", why: "no answer within 20 ms" });
    expect(stopped).toBe(true);
    expect(exit).not.toHaveBeenCalled();
  });

  it("ends the process where the adapter does not stop: stopped by Lambda, it would send in a later invocation", async () => {
    const exit = vi.fn<() => void>();
    const submit = () => new Promise<JobAnswer>(() => undefined);
    await ask(submission({ timeoutMs: 20 }), { service: service({ submit }), exit });
    expect(exit).toHaveBeenCalledOnce();
    expect(lines.join("")).toContain('"outcome":"never ended"');
  });

  it("comes before the function's own end, whatever time the question has", async () => {
    const submit: AnyService["submit"] = (_job, { signal }) =>
      new Promise((_answer, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
    const asked = ask(submission(), { service: service({ submit }), remainingMs: 2_030 });
    expect(await asked).toEqual({ state: "unknown", why: "no answer within 30 ms" });
  });
});

describe("what is not put", () => {
  const never = vi.fn<AnyService["submit"]>();
  beforeEach(() => never.mockClear());

  it.each([
    ["a question whose caller has given it up", submission({ untilMs: NOW }), 30_000],
    ["a question for which the function has no time", submission(), 2_000],
  ])("is %s: nothing is sent later than its sender believes", async (_what, event, remainingMs) => {
    const asked = ask(event, { service: service({ submit: never }), remainingMs });
    await expect(asked).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(never).not.toHaveBeenCalled();
    expect(lines.join("")).toContain('"outcome":"not asked"');
  });

  it.each(["another", "constructor"])(
    "is a question to %s, which the configuration does not have",
    async (name) => {
      const asked = ask(submission({ service: name }), { service: service({ submit: never }) });
      await expect(asked).rejects.toMatchObject({ code: "configuration_invalid" });
    },
  );

  const job = (over: object) =>
    submission({ question: { kind: "submit", job: { ...SUBMISSION, ...over } } as never });
  it.each([
    ["nothing", undefined, "/"],
    ["an SQS event", { Records: [{ body: "a-callback-token" }] }, "/service"],
    [
      "a question of a kind that there is not",
      { ...submission(), question: { kind: "pay", job: JOB } },
      "/question/kind",
    ],
    ["a job without its key", job({ idempotencyKey: undefined }), "/question/job/idempotencyKey"],
    ["a job with more than a job has", job({ url: "a-callback-token" }), "/question/job"],
    ["a question without an end", { ...submission(), untilMs: "a-callback-token" }, "/untilMs"],
    ["a service by a name that none can have", submission({ service: "a-callback-token\n" }), "/service"],
  ])("is %s, and nothing of it is repeated", async (_what, event, path) => {
    const refusal = await ask(event, { service: service({ submit: never }) }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: "invalid_request", message: expect.stringContaining(path) });
    expect(`${String(refusal)}${(refusal as { fix: string }).fix}`).not.toMatch(
      /a-callback-token|of the request/,
    );
    expect(lines).toEqual([]);
    expect(never).not.toHaveBeenCalled();
  });
});
