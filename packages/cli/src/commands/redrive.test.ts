import { describe, expect, it } from "vitest";
import { api, ghouls, RUN_ID, SUMMARY, VIEW } from "../fakes.support.ts";

const AGAIN = "1c0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
const ANSWER = {
  runId: AGAIN,
  redriveOf: RUN_ID,
  created: true,
  status: "QUEUED",
  enqueueSeq: 1,
  workflow: { name: "hello", version: 1, digest: "d1" },
  queue: "runs",
  priority: 5,
  kept: 2,
  from: { kind: "step", name: "three\n" } as { kind: string; name: string } | null,
};
const PATH = `POST /v1/runs/${RUN_ID}/redrive`;

describe("redrive", () => {
  it("prints the new run's id, and tells what it keeps", async () => {
    const server = await api({ [PATH]: ANSWER });
    const outcome = await ghouls(["redrive", RUN_ID, "--reason", "mended"], { env: server.env });
    expect(outcome).toEqual({
      code: 0,
      out: `${AGAIN}\n`,
      err: 'keeps 2 finished calls, and goes on with step "three\\u000a"\n',
    });
    expect(server.asked.map(({ body }) => body)).toEqual([{ reason: "mended" }]);
  });

  it("has a reason of its own where none is given, and says where all is kept, or was before", async () => {
    const before = { ...ANSWER, created: false, kept: null, from: null, status: "RUNNING" };
    const server = await api({ [PATH]: [{ ...ANSWER, from: null }, before] });
    expect(await ghouls(["redrive", RUN_ID], { env: server.env })).toMatchObject({
      err: "keeps 2 finished calls, and goes on at its end\n",
    });
    expect(await ghouls(["redrive", RUN_ID], { env: server.env })).toMatchObject({
      code: 0,
      out: `${AGAIN}\n`,
      err: "redriven before: it is RUNNING\n",
    });
    expect(server.asked.map(({ body }) => body)).toEqual([
      { reason: "by ghouls redrive" },
      { reason: "by ghouls redrive" },
    ]);
    expect(JSON.parse((await ghouls(["redrive", RUN_ID, "--json"], { env: server.env })).out)).toEqual(
      before,
    );
  });

  it.each([
    [1, "keeps 1 finished call, and goes on at its end\n"],
    [0, "keeps 0 finished calls, and begins anew\n"],
  ])("counts: %i", async (kept, err) => {
    const server = await api({ [PATH]: { ...ANSWER, kept, from: null } });
    expect(await ghouls(["redrive", RUN_ID], { env: server.env })).toMatchObject({ code: 0, err });
  });

  it("that is refused fails with its name and the fix", async () => {
    const refused = {
      type: "urn:ghouls:problem:not_redrivable",
      title: "Not redrivable",
      status: 409,
      detail: "nobody knows whether it happened",
      fix: "Submit it anew.",
      requestId: "r1",
      errors: [{ path: "/effect_unknown", message: "nobody knows whether it happened" }],
    };
    const server = await api({ [PATH]: refused });
    const outcome = await ghouls(["redrive", RUN_ID], { env: server.env });
    expect(outcome.code).toBe(1);
    expect(outcome.err).toBe(
      "ghouls: nobody knows whether it happened\n  /effect_unknown\n  Fix: Submit it anew.\n  Request: r1\n",
    );
  });

  it("is told by show and runs, on both sides", async () => {
    const server = await api({
      [`GET /v1/runs/${RUN_ID}`]: { ...VIEW, redriveOf: AGAIN, redrivenAs: AGAIN },
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "FAILED", entries: [] },
      "GET /v1/runs": { runs: [{ ...SUMMARY, status: "FAILED", redrivenAs: AGAIN }], nextCursor: null },
    });
    const { out } = await ghouls(["show", RUN_ID], { env: server.env });
    expect(out).toContain(`redrive of  ${AGAIN}`);
    expect(out).toContain(`redriven as ${AGAIN}`);
    expect((await ghouls(["runs"], { env: server.env })).out).toContain("FAILED, redriven");
  });
});

describe("cancel by filter", () => {
  const CANCEL = "POST /v1/runs/cancel";
  const run = { runId: RUN_ID, workflow: "hello", outcome: "cancelled", status: "CANCELLED" };
  const page = { dryRun: false, cancelled: 1, ending: 0, ended: 0, runs: [run], nextCursor: null };

  it("goes on until no page is left, and counts", async () => {
    const ending = { ...run, outcome: "ending", status: "FAILING" };
    const server = await api({
      [CANCEL]: [
        { ...page, nextCursor: "c1" },
        { ...page, ending: 1, ended: 1, runs: [run, ending] },
      ],
    });
    const args = ["cancel", "--workflow", "hello", "--status", "queued,awaiting_timer", "--reason", "x"];
    const outcome = await ghouls(
      [...args, "--admitted-after", "2026-01-01T00:00:00Z", "--admitted-before", "2026-02-01T00:00:00Z"],
      { env: server.env },
    );
    expect(outcome).toMatchObject({ code: 0, err: "2 cancelled, 1 ending already, 1 had ended\n" });
    expect(outcome.out.split("\n")[2]).toBe(`ending        FAILING            hello  ${RUN_ID}`);
    const filter = {
      status: ["QUEUED", "AWAITING_TIMER"],
      workflow: "hello",
      admittedAfter: "2026-01-01T00:00:00Z",
      admittedBefore: "2026-02-01T00:00:00Z",
    };
    expect(server.asked.map(({ body }) => body)).toEqual([
      { filter, reason: "x", dryRun: false },
      { filter, reason: "x", dryRun: false, cursor: "c1" },
    ]);
  });

  it("of a dry run only lists", async () => {
    const server = await api({ [CANCEL]: { ...page, dryRun: true } });
    const args = ["cancel", "--attention", "--parent", RUN_ID, "--reason", "x", "--dry-run"];
    expect(await ghouls(args, { env: server.env })).toMatchObject({
      code: 0,
      out: `would cancel  CANCELLED          hello  ${RUN_ID}\n`,
      err: "1 would be cancelled, 0 ending already, 0 had ended\n",
    });
    expect(server.asked.map(({ body }) => body)).toEqual([
      { filter: { attention: true, parentRunId: RUN_ID }, reason: "x", dryRun: true },
    ]);
    const { out } = await ghouls([...args, "--json"], { env: server.env });
    expect(JSON.parse(out)).toMatchObject({ cancelled: 1, runs: [run] });
  });

  it.each([
    ["nothing to cancel", ["--reason", "x"]],
    ["a run and a filter", [RUN_ID, "--workflow", "hello", "--reason", "x"]],
    ["a dry run of one run", [RUN_ID, "--dry-run", "--reason", "x"]],
    ["a status that is none", ["--status", "gone", "--reason", "x"]],
    ["no reason", ["--workflow", "hello"]],
  ])("with %s is a wrong call", async (_, args) => {
    const server = await api({});
    expect(await ghouls(["cancel", ...args], { env: server.env })).toMatchObject({ code: 2 });
    expect(server.asked).toEqual([]);
  });
});
