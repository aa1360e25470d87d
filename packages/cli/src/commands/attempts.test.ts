import { describe, expect, it } from "vitest";
import { api, AT, ghouls, RUN_ID, VIEW } from "../fakes.support.ts";

const ID = "7f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f2";
const LISTED = {
  attemptId: ID,
  runId: RUN_ID,
  workflow: "release-gate",
  name: "sign",
  status: "UNCERTAIN",
  service: "signer",
  executor: { adapter: "http", version: "1", digest: "0123456789abcdef" },
  digest: "of the request",
  idempotencyKey: `ghouls-${ID}`,
  submissions: 1,
  uncertain: "it answered 503",
  trouble: null,
  cancelling: null,
  contradiction: null,
  createdAt: AT,
  acknowledgedAt: null,
  heartbeatAt: null,
  deadlineAt: null,
  nextLookAt: AT,
  closedAt: null,
  closedBy: null,
};
const SHOWN = { ...LISTED, request: { what: "it" }, result: null, error: null };
const RESOLUTION = `POST /v1/attempts/${ID}/resolution`;
const RESOLVED = { attemptId: ID, runId: RUN_ID, status: "CANCELLED", resumed: true };

describe("attempts", () => {
  it("lists them with what nobody knows, and says where the next page begins", async () => {
    const server = await api({ "GET /v1/attempts": { attempts: [LISTED], nextCursor: "further" } });
    const argv = ["attempts", "--status", "UNCERTAIN", "--run", RUN_ID, "--limit", "1", "--cursor", "c"];
    const outcome = await ghouls(argv, { env: server.env });
    expect(outcome.code).toBe(0);
    expect(outcome.out).toMatch(/^STATUS +SERVICE +JOB +ID +RUN\s+UNCERTAIN +signer +sign /);
    expect(outcome.err).toContain(`attempt ${ID}: it answered 503`);
    expect(outcome.err).toContain("--cursor further");
    expect(server.asked[0]?.line).toBe(`GET /v1/attempts?status=UNCERTAIN&runId=${RUN_ID}&limit=1&cursor=c`);
  });

  it("prints JSON, and takes no status that is none", async () => {
    const page = { attempts: [LISTED], nextCursor: null };
    const server = await api({ "GET /v1/attempts": page });
    expect(JSON.parse((await ghouls(["attempts", "--json"], { env: server.env })).out)).toEqual(page);
    expect(await ghouls(["attempts", "--status", "LOST"], { env: server.env })).toMatchObject({ code: 2 });
  });

  it("shows one, and how to settle what nobody knows", async () => {
    const server = await api({ [`GET /v1/attempts/${ID}`]: SHOWN });
    const { out } = await ghouls(["attempts", ID], { env: server.env });
    expect(out).toContain("service     signer, http 1, 0123456789ab\n");
    expect(out).toContain('request     {"what":"it"}');
    expect(out).toContain(`npx ghouls attempts ${ID} --resolve`);
    expect(JSON.parse((await ghouls(["attempts", ID, "--json"], { env: server.env })).out)).toEqual(SHOWN);
  });

  it.each([
    [{ status: "SUCCEEDED", result: { done: "x" }, closedBy: "callback" }, 'result      {"done":"x"}'],
    [
      { status: "FAILED", error: { code: "no", message: "not today" }, closedBy: "service" },
      "error       no: not today",
    ],
    [{ contradiction: "and then it failed" }, "contradicts and then it failed"],
  ])("shows what came of it: %j", async (change, line) => {
    const server = await api({ [`GET /v1/attempts/${ID}`]: { ...SHOWN, ...change } });
    expect((await ghouls(["attempts", ID], { env: server.env })).out).toContain(line);
  });

  it("settles one by a word, with what it gave", async () => {
    const server = await api({ [RESOLUTION]: RESOLVED });
    const argv = ["attempts", ID, "--resolve", "succeeded", "--result", '{"done":1}', "--reason", "asked"];
    expect(await ghouls(argv, { env: server.env })).toMatchObject({
      code: 0,
      out: "CANCELLED, the run goes on\n",
    });
    const json = await ghouls(["attempts", ID, "--resolve", "cancelled", "--reason", "asked", "--json"], {
      env: server.env,
    });
    expect(JSON.parse(json.out)).toEqual(RESOLVED);
    expect(server.asked.map(({ body }) => body)).toEqual([
      { outcome: "succeeded", reason: "asked", result: { done: 1 } },
      { outcome: "cancelled", reason: "asked" },
    ]);
  });

  it.each([
    ["without a reason", ["attempts", ID, "--resolve", "failed"]],
    ["without an id", ["attempts", "--resolve", "failed", "--reason", "x"]],
    ["with an outcome that is none", ["attempts", ID, "--resolve", "lost", "--reason", "x"]],
    [
      "with a result that is no JSON",
      ["attempts", ID, "--resolve", "succeeded", "--reason", "x", "--result", "{"],
    ],
  ])("refuses a word %s, and asks nobody", async (_what, argv) => {
    const server = await api({});
    expect((await ghouls(argv, { env: server.env })).code).toBe(2);
    expect(server.asked).toEqual([]);
  });
});

describe("show", () => {
  it("names the attempt that a run waits for", async () => {
    const wait = {
      kind: "delegate",
      name: "sign",
      scope: "",
      dueAt: null,
      consentId: null,
      attemptId: ID,
      childRunId: null,
    };
    const server = await api({
      [`GET /v1/runs/${RUN_ID}`]: { ...VIEW, status: "AWAITING_DELEGATE", waits: [wait] },
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "AWAITING_DELEGATE", entries: [] },
    });
    const { out } = await ghouls(["show", RUN_ID], { env: server.env });
    expect(out).toContain(`sign: ghouls attempts ${ID}`);
  });
});
