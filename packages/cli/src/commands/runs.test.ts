import { describe, expect, it } from "vitest";
import { ADMITTED, api, AT, folder, ghouls, RUN_ID, SUMMARY, VIEW } from "../fakes.support.ts";

const admitted = { kind: "admitted", at: AT };
const delivery = { kind: "delivery", at: AT, enqueueSeq: 1, cause: "admitted", status: "SETTLED", dueAt: AT };
const step = {
  kind: "step",
  call: "step",
  scope: "",
  at: "2026-01-02T03:04:05.700Z",
  enqueueSeq: 1,
  ordinal: 1,
  name: "greet",
  nth: 1,
  outcome: "ok",
  tries: 2,
  startedAt: AT,
};
const ENTRIES = [
  admitted,
  delivery,
  { kind: "published", at: AT, enqueueSeq: 1, publications: 2 },
  { kind: "claimed", at: AT, enqueueSeq: 1, worker: "w1", cause: "admitted" },
  step,
  { kind: "worker_ended", at: AT, enqueueSeq: 1, worker: "w1", how: "timed out" },
  { kind: "settled", at: AT, enqueueSeq: 1, outcome: "done" },
  { kind: "fenced", at: AT, enqueueSeq: 2, why: "cancelled" },
  { kind: "skipped", at: AT, lastAt: AT, enqueueSeq: 2, reason: "fenced", times: 1 },
  { kind: "skipped", at: AT, lastAt: AT, enqueueSeq: 2, reason: "paused", times: 4 },
  { kind: "finished", at: AT, status: "DONE", errorCode: null },
];
const timeline = (status: string, entries: unknown[]) => ({ runId: RUN_ID, status, entries });
const page = (id: string, ...events: unknown[]) => ({
  batches: [{ id, events }],
  done: id === "end",
  nextAfter: id,
});
const PROBLEM = {
  type: "urn:ghouls:problem:input_invalid",
  title: "Invalid input",
  status: 422,
  detail: "The input does not fit.",
  fix: "Change it.",
  requestId: "r1",
  errors: [{ path: "/input/name", message: "expected string" }],
};

describe("submit", () => {
  it("prints the id alone, so that a script can take it", async () => {
    const { env, asked } = await api({ "POST /v1/runs": ADMITTED });
    const argv = [
      "submit",
      "hello",
      "--input",
      '{"a":[1,"x"]}',
      "--key",
      "k1",
      "--queue",
      "rites",
      "--priority",
      "9",
    ];
    expect(await ghouls([...argv, "--agent", "ada", "--held", "--start-after", "2h"], { env })).toEqual({
      code: 0,
      out: `${RUN_ID}\n`,
      err: "",
    });
    expect(asked).toEqual([
      {
        line: "POST /v1/runs",
        token: "Bearer env-token",
        key: "k1",
        body: {
          workflow: "hello",
          input: { a: [1, "x"] },
          queue: "rites",
          priority: 9,
          agent: "ada",
          held: true,
          startAfter: "2h",
        },
      },
    ]);
  });

  it.each([["-"], ["--input-file", "-"], ["--input", "-"]])(
    "reads the input from stdin with %s",
    async (...dash) => {
      const { env, asked } = await api({ "POST /v1/runs": ADMITTED });
      await ghouls(["submit", "hello", ...dash], {
        env,
        readStdin: () => Promise.resolve('{"from":"stdin"}\n'),
      });
      expect(asked[0]?.body).toEqual({ workflow: "hello", input: { from: "stdin" } });
    },
  );

  it("reads the input from a file, and sends none where none is given", async () => {
    const { env, asked } = await api({ "POST /v1/runs": ADMITTED });
    const cwd = await folder({ "in.json": "[1]" });
    await ghouls(["submit", "hello", "--input-file", "in.json"], { env, cwd });
    await ghouls(["submit", "hello"], { env, cwd });
    expect(asked.map(({ body }) => body)).toEqual([{ workflow: "hello", input: [1] }, { workflow: "hello" }]);
  });

  it.each([
    ["no JSON", ["--input", "{name:1}"]],
    ["a number that would arrive as another one", ["--input", "9007199254740993"]],
    ["two inputs", ["--input", "1", "-"]],
    ["a file that is not there", ["--input-file", "none.json"]],
    ["a stray argument", ["world"]],
  ])("refuses %s as wrong usage and sends nothing", async (_case, rest) => {
    const { env, asked } = await api({ "POST /v1/runs": ADMITTED });
    const outcome = await ghouls(["submit", "hello", ...rest], { env });
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain("Fix: ");
    expect(asked).toEqual([]);
  });

  it("does not take a folder for an input file", async () => {
    const { env } = await api({});
    expect(await ghouls(["submit", "hello", "--input-file", "."], { env })).toMatchObject({ code: 1 });
  });

  it("tells on stderr that the key was used before", async () => {
    const { env } = await api({ "POST /v1/runs": { ...ADMITTED, created: false } });
    const outcome = await ghouls(["submit", "hello", "--json"], { env });
    expect(JSON.parse(outcome.out)).toEqual({ ...ADMITTED, created: false });
    expect(outcome.err).toContain("used before");
  });

  it("tells a refusal with its paths, its fix and the request id, as text and as JSON", async () => {
    const { env } = await api({ "POST /v1/runs": PROBLEM });
    const text = await ghouls(["submit", "hello"], { env });
    expect(text).toEqual({
      code: 1,
      out: "",
      err: "ghouls: The input does not fit.\n  /input/name: expected string\n  Fix: Change it.\n  Request: r1\n",
    });
    const json = await ghouls(["submit", "hello", "--json"], { env });
    expect(JSON.parse(json.err)).toMatchObject({
      error: { code: "input_invalid", requestId: "r1", errors: PROBLEM.errors },
    });
  });

  it("follows the run to its end with --watch", async () => {
    const { env } = await api({
      "POST /v1/runs": ADMITTED,
      [`GET /v1/runs/${RUN_ID}/events`]: [page("1.0.0.0", admitted), page("end", step)],
      [`GET /v1/runs/${RUN_ID}`]: VIEW,
    });
    const outcome = await ghouls(["submit", "hello", "--watch"], { env });
    expect(outcome.code).toBe(0);
    expect(outcome.out.split("\n")[0]).toBe(RUN_ID);
    expect(outcome.out).toContain(
      'step "greet" done after 2 tries, 22 ms\n{\n  "greeting": "Hello, world."\n}\n',
    );
  });
});

describe("runs", () => {
  it("prints a table and passes the filters on", async () => {
    const asking = { ...SUMMARY, status: "RUNNING", attention: { reason: "unclaimed", at: AT } };
    const { env, asked } = await api({ "GET /v1/runs": { runs: [SUMMARY, asking], nextCursor: "c2" } });
    const filters = ["--status", "done,failed", "--status", "QUEUED", "--workflow", "hello", "--attention"];
    const outcome = await ghouls(["runs", ...filters, "--limit", "2", "--cursor", "c1"], { env });
    expect(outcome).toEqual({
      code: 0,
      out: [
        "STATUS     WORKFLOW  ID                                    CREATED                   STEPS",
        `DONE       hello@1   ${RUN_ID}  ${AT}  1`,
        `RUNNING !  hello@1   ${RUN_ID}  ${AT}  1`,
        "",
      ].join("\n"),
      err: "There are more: --cursor c2\n",
    });
    expect(asked[0]?.line).toBe(
      "GET /v1/runs?status=DONE&status=FAILED&status=QUEUED&workflow=hello&attention=true&limit=2&cursor=c1",
    );
  });

  it("cannot be made to move the cursor or forge a line by a name", async () => {
    const hostile = { ...SUMMARY, workflow: { ...SUMMARY.workflow, name: "a\u001b[2J\nDONE\u202e" } };
    const { env } = await api({ "GET /v1/runs": { runs: [hostile], nextCursor: null } });
    const { out } = await ghouls(["runs"], { env });
    expect(out).toContain(String.raw`a\u001b[2J\u000aDONE\u202e@1`);
    expect(out.split("\n")).toHaveLength(3);
  });

  it("prints the page as JSON", async () => {
    const page = { runs: [SUMMARY], nextCursor: null };
    const { env } = await api({ "GET /v1/runs": page });
    expect(JSON.parse((await ghouls(["runs", "--json"], { env })).out)).toEqual(page);
  });
});

describe("show", () => {
  it("tells what the running host has found out about the run's workflow, and of no other run", async () => {
    const notice = {
      at: AT,
      runId: RUN_ID,
      message: "hello: on replay, \u001b[31mno",
      fix: "Use ctx.now().",
    };
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}`]: VIEW,
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "DONE", entries: [] },
    });
    const notices = [notice, { ...notice, runId: "another", message: "of another" }, notice];
    const cwd = await folder({ ".ghouls/dev.json": JSON.stringify({ apiUrl: "http://x", notices }) });
    const { out } = await ghouls(["show", RUN_ID], { env, cwd });
    const words = String.raw`hello: on replay, \u001b[31mno`;
    expect(out.split("Not deterministic")[1]).toBe(`\n${words}\n  Fix: Use ctx.now().\n`);
    const json = await ghouls(["show", RUN_ID, "--json"], { env, cwd });
    const { message, fix } = notice;
    expect((JSON.parse(json.out) as { notices: unknown }).notices).toEqual([
      { message, fix },
      { message, fix },
    ]);
  });

  it.each([
    [null, "lets it go on"],
    [AT, "ends the quarantine; its status stays"],
  ])("says of one in quarantine that has ended at %s what clear does", async (finishedAt, what) => {
    const quarantine = { reason: "evidence: it was altered", at: AT };
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}`]: { ...VIEW, quarantine, finishedAt },
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "DONE", entries: [] },
    });
    const { out } = await ghouls(["show", RUN_ID], { env });
    expect(out).toContain(`to do       correct the cause, then \`npx ghouls clear\` ${what}\n`);
  });

  it("prints the run and every kind of entry in words", async () => {
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}`]: VIEW,
      [`GET /v1/runs/${RUN_ID}/timeline`]: timeline("DONE", ENTRIES),
    });
    const { code, out } = await ghouls(["show", RUN_ID], { env });
    expect(code).toBe(0);
    expect(out).toContain(
      `run         ${RUN_ID}\nstatus      DONE\nworkflow    hello version 1, digest d1\n`,
    );
    expect(out).toContain('output      {"greeting":"Hello, world."}\n');
    const words = out
      .split("\n\n")[1]
      ?.trimEnd()
      .split("\n")
      .map((line) => line.split("  ")[1]);
    expect(words).toEqual([
      "admitted",
      "delivery 1 made (admitted), now SETTLED",
      "delivery 1 published, 2 times by now",
      "delivery 1 claimed by w1",
      'step "greet" done after 2 tries, 22 ms',
      "worker w1 ended: timed out",
      "delivery 1 settled: done",
      "delivery 2 fenced: cancelled",
      "a message of delivery 2 skipped: fenced",
      `a message of delivery 2 skipped: paused, 4 times, the last at ${AT}`,
      "run DONE",
    ]);
    const json = await ghouls(["show", RUN_ID, "--json"], { env });
    expect(JSON.parse(json.out)).toEqual({ run: VIEW, timeline: ENTRIES });
  });

  it("prints a failure with its step", async () => {
    const error = { code: "step_failed", name: "StepFailedError", message: "no\nnews", step: "greet" };
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}`]: {
        ...VIEW,
        status: "FAILED",
        errorCode: "step_failed",
        output: null,
        error,
      },
      [`GET /v1/runs/${RUN_ID}/timeline`]: timeline("FAILED", [
        { ...step, outcome: "error", nth: 3, tries: 1 },
      ]),
    });
    const { out } = await ghouls(["show", RUN_ID], { env });
    expect(out).toContain("status      FAILED (step_failed)\n");
    expect(out).toContain(String.raw`error       StepFailedError: no\u000anews`);
    expect(out).toContain("failed step greet\n");
    expect(out).toContain('step "greet" (use 3) failed, 22 ms');
  });
});

describe("show of a run that reserves", () => {
  it("says which units it holds, waits for, or has left to a worker that may still act", async () => {
    const of = (rest: object) => ({
      capacity: "gpu",
      units: 1,
      name: "gpu",
      scope: "",
      askedAt: AT,
      heldAt: null,
      ...rest,
    });
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}`]: {
        ...VIEW,
        status: "AWAITING_HARDWARE",
        reservations: [
          of({ status: "HELD", heldAt: AT }),
          of({ status: "WAITING", capacity: "licences", units: 3, name: "sign" }),
          of({ status: "LEFT", heldAt: AT }),
        ],
      },
      [`GET /v1/runs/${RUN_ID}/timeline`]: timeline("AWAITING_HARDWARE", [admitted]),
    });
    const { out } = await ghouls(["show", RUN_ID], { env });
    expect(out).toContain(
      [
        "Units",
        `gpu                   1, held since ${AT}`,
        `licences              3 for sign, asked for since ${AT}`,
        "gpu                   1, in use until nothing of a lost worker acts",
        "",
      ].join("\n"),
    );
  });
});

describe("watch", () => {
  const watched = async (
    status: string,
    rest: object = {},
    argv: string[] = [],
    said: readonly unknown[] = [],
  ) => {
    const { env } = await api({
      [`GET /v1/runs/${RUN_ID}/events`]: [
        page("1.0.0.0", admitted, ...said),
        page("end", { kind: "finished", at: AT, status, errorCode: status === "DONE" ? null : "deadline" }),
      ],
      [`GET /v1/runs/${RUN_ID}`]: { ...VIEW, status, ...rest },
    });
    return ghouls(["watch", RUN_ID, ...argv], { env });
  };

  it.each([
    ["DONE", 0],
    ["FAILED", 1],
    ["CANCELLED", 1],
  ])("ends with %s as exit code %d", async (status, code) => {
    expect(await watched(status)).toMatchObject({ code });
  });

  it("prints each entry once, and the error on stderr", async () => {
    const error = { code: "deadline", name: "Error", message: "too late" };
    expect(await watched("FAILED", { output: null, error })).toEqual({
      code: 1,
      out: `${AT}  admitted\n${AT}  run FAILED: deadline\n`,
      err: "ghouls: deadline: too late\n",
    });
  });

  it("prints what the run says as one text, and what is missing; nothing of it can move the cursor", async () => {
    const chunk = (text: string) => ({
      kind: "chunk",
      at: AT,
      enqueueSeq: 1,
      channel: "tokens",
      chunk: text,
    });
    const emitted = { kind: "emitted", at: AT, enqueueSeq: 1, name: "half\u0007way", data: { percent: 50 } };
    const said = [chunk("good "), chunk("evening\n\u001b[2J"), emitted, { kind: "gap", at: AT }];
    const { out } = await watched("DONE", { output: null }, [], said);
    expect(out).toBe(
      [
        `${AT}  admitted`,
        `${AT}  tokens: good evening`,
        "\\u001b[2J",
        `${AT}  half\\u0007way {"percent":50}`,
        `${AT}  something that was said live is missing here`,
        `${AT}  run DONE`,
        "",
      ].join("\n"),
    );
  });

  it("prints JSON lines with the run as the last", async () => {
    const { out } = await watched("DONE", { output: null }, ["--json"]);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { kind?: string; runId?: string });
    expect(lines.map(({ kind, runId }) => kind ?? runId)).toEqual(["admitted", "finished", RUN_ID]);
  });
});
