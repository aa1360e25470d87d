import { describe, expect, it } from "vitest";
import { api, AT, ghouls, RUN_ID, SUMMARY, VIEW } from "../fakes.support.ts";

const OWN = { scope: "run", pauseId: null, by: "olga", reason: "a leak\u001b[2J", at: AT };
const WORDS = String.raw`${AT} by olga: a leak\u001b[2J`;
const ALL = {
  scope: "all",
  tenantId: null,
  workflow: null,
  pauseId: "p1",
  by: "olga",
  reason: "a restore",
  at: AT,
};
const TENANT = { ...ALL, scope: "tenant", tenantId: "t1", pauseId: "p2" };
const WORKFLOW = { ...ALL, scope: "workflow", tenantId: "t1", workflow: "bill", pauseId: "p3" };
const EVERYWHERE = { ...WORKFLOW, tenantId: null, pauseId: "p4" };

const WHY = ["--reason", "a leak"];

describe("pause of a run", () => {
  const path = `POST /v1/runs/${RUN_ID}/pause`;
  const answer = { runId: RUN_ID, paused: true, status: "RUNNING", pauses: [OWN] };

  it("says what the run is, and sends the reason", async () => {
    const server = await api({ [path]: answer });
    const outcome = await ghouls(["pause", RUN_ID, ...WHY], { env: server.env });
    expect(outcome).toEqual({ code: 0, out: "paused: the run is RUNNING\n", err: "" });
    expect(server.asked.map((one) => one.body)).toEqual([{ reason: "a leak" }]);
    const json = await ghouls(["pause", RUN_ID, ...WHY, "--json"], { env: server.env });
    expect(JSON.parse(json.out)).toEqual(answer);
  });

  it("that is paused already says by whom, and is no failure", async () => {
    const server = await api({ [path]: { ...answer, paused: false } });
    expect(await ghouls(["pause", RUN_ID, ...WHY], { env: server.env })).toMatchObject({
      code: 0,
      out: `paused before, ${WORDS}\n`,
    });
  });

  it("that is ending says so, and is a failure", async () => {
    const server = await api({ [path]: { ...answer, paused: false, status: "FAILING", pauses: [] } });
    const outcome = await ghouls(["pause", RUN_ID, ...WHY], { env: server.env });
    expect(outcome).toMatchObject({
      code: 1,
      out: "not paused: the run is FAILING, and no pause holds an ending\n",
    });
  });
});

describe("unpause of a run", () => {
  const path = `POST /v1/runs/${RUN_ID}/unpause`;
  const answer = { runId: RUN_ID, unpaused: true, status: "QUEUED", pauses: [] };

  it("says what the run is, and what holds it still", async () => {
    const server = await api({ [path]: [answer, { ...answer, pauses: [{ ...TENANT, reason: "a leak" }] }] });
    const argv = ["unpause", RUN_ID, "--reason", "mended"];
    expect(await ghouls(argv, { env: server.env })).toEqual({
      code: 0,
      out: "unpaused: the run is QUEUED\n",
      err: "",
    });
    expect((await ghouls(argv, { env: server.env })).err).toBe(
      `It is held still: its tenant, since ${AT} by olga: a leak\n`,
    );
    expect(JSON.parse((await ghouls([...argv, "--json"], { env: server.env })).out)).toMatchObject({
      unpaused: true,
    });
  });

  it("that is not paused is a failure", async () => {
    const server = await api({ [path]: { ...answer, unpaused: false } });
    const outcome = await ghouls(["unpause", RUN_ID, ...WHY], { env: server.env });
    expect(outcome).toMatchObject({ code: 1, out: "the run itself is not paused\n" });
  });
});

describe("pause of more than a run", () => {
  it.each([
    ["everything", ["--all"], { scope: "all" }, ALL, "every run"],
    ["a tenant", ["--tenant"], { scope: "tenant" }, TENANT, "every run of tenant t1"],
    [
      "a workflow",
      ["--workflow", "bill"],
      { scope: "workflow", workflow: "bill" },
      WORKFLOW,
      "workflow bill of tenant t1",
    ],
  ])("of %s says what it holds", async (_what, argv, request, pause, told) => {
    const server = await api({
      "POST /v1/pauses": [
        { created: true, pause },
        { created: false, pause },
      ],
    });
    const outcome = await ghouls(["pause", ...argv, ...WHY], { env: server.env });
    expect(outcome).toEqual({ code: 0, out: `paused: ${told}\n`, err: "" });
    expect(server.asked[0]?.body).toEqual({ ...request, reason: "a leak" });
    expect(await ghouls(["pause", ...argv, ...WHY], { env: server.env })).toMatchObject({
      code: 0,
      out: `paused before, ${AT} by olga: a restore\n`,
    });
    const json = await ghouls(["pause", ...argv, ...WHY, "--json"], { env: server.env });
    expect(JSON.parse(json.out)).toEqual({ created: false, pause });
  });

  it.each([
    ["nothing", [], "one thing"],
    ["two things", ["--all", "--workflow", "bill"], "one thing"],
    ["a run and everything", [RUN_ID, "--all"], "one thing"],
    ["a workflow of a tenant", ["--workflow", "bill", "--tenant"], "one thing"],
    ["another tenant", ["--tenant", "umbrella"], "the tenant of its token alone"],
    ["no workflow's name", ["--workflow", "../x"], "name of a workflow"],
    ["a run in a database", [RUN_ID, "--database-url", "x"], "goes by the API"],
    ["no tenant in a database", ["--tenant", "--database-url", "x"], "the tenant's name"],
    ["everything and a tenant in a database", ["--all", "--tenant", "t", "--database-url", "x"], "one thing"],
    ["a database that is not named", ["--all", "--database-url"], "no database is named"],
  ])("of %s is called wrongly", async (_what, argv, told) => {
    for (const command of ["pause", "unpause"]) {
      const outcome = await ghouls([command, ...argv, ...WHY]);
      expect(outcome).toMatchObject({ code: 2, out: "" });
      expect(outcome.err).toContain(told);
    }
  });

  it("wants a reason", async () => {
    for (const command of ["pause", "unpause"])
      expect(await ghouls([command, "--all"])).toMatchObject({
        code: 2,
        err: expect.stringContaining("--reason"),
      });
  });
});

describe("unpause of more than a run", () => {
  it.each([
    ["everything", ["--all"], "p1"],
    ["a tenant", ["--tenant"], "p2"],
    ["a workflow: its own tenant's before that of every tenant", ["--workflow", "bill"], "p3"],
  ])("of %s lifts that pause", async (_what, argv, id) => {
    const pause = [ALL, TENANT, WORKFLOW].find(({ pauseId }) => pauseId === id);
    const server = await api({
      "GET /v1/pauses": { pauses: [EVERYWHERE, ALL, TENANT, WORKFLOW] },
      [`DELETE /v1/pauses/${id}`]: { lifted: true, pause },
    });
    const outcome = await ghouls(["unpause", ...argv, "--reason", "all is well"], { env: server.env });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(outcome.out).toMatch(/^unpaused: /);
    expect(server.asked[1]?.line).toBe(`DELETE /v1/pauses/${id}?reason=all+is+well`);
  });

  it("that nobody has paused, or somebody else has unpaused, is a failure", async () => {
    const server = await api({
      "GET /v1/pauses": [{ pauses: [TENANT] }, { pauses: [ALL] }],
      "DELETE /v1/pauses/p1": { lifted: false, pause: ALL },
    });
    const told = { code: 1, out: "nothing is paused by that name: `ghouls pauses` lists what is\n" };
    expect(await ghouls(["unpause", "--all", ...WHY], { env: server.env })).toMatchObject(told);
    expect(await ghouls(["unpause", "--all", ...WHY], { env: server.env })).toMatchObject(told);
    const none = await ghouls(["unpause", "--workflow", "x", ...WHY, "--json"], { env: server.env });
    expect(none).toMatchObject({ code: 1, out: '{"lifted":false}\n' });
  });
});

it("pauses lists what is paused, since when, by whom and why", async () => {
  const server = await api({ "GET /v1/pauses": { pauses: [ALL, WORKFLOW] } });
  const { out } = await ghouls(["pauses"], { env: server.env });
  expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["PAUSED", "TENANT", "WORKFLOW", "SINCE", "BY", "REASON"],
    ["all", "every", "every", AT, "olga", "a restore"],
    ["workflow", "t1", "bill", AT, "olga", "a restore"],
    [""],
  ]);
  const json = await ghouls(["pauses", "--json"], { env: server.env });
  expect(JSON.parse(json.out)).toEqual({ pauses: [ALL, WORKFLOW] });
});

it("show and runs tell who has paused a run, and why", async () => {
  const pauses = [OWN, { scope: "all", pauseId: "p1", by: "bob", reason: "a restore", at: AT }];
  const server = await api({
    [`GET /v1/runs/${RUN_ID}`]: { ...VIEW, status: "QUEUED", pausedAt: AT, pauses },
    [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "QUEUED", entries: [] },
    "GET /v1/runs": { runs: [{ ...SUMMARY, pauses }, SUMMARY], nextCursor: null },
  });
  const { out } = await ghouls(["show", RUN_ID], { env: server.env });
  expect(out).toContain(`paused      itself, since ${WORDS.replaceAll("\\", "\\")}\n`);
  expect(out).toContain(`paused      every run, since ${AT} by bob: a restore\n`);
  const listed = (await ghouls(["runs"], { env: server.env })).out.split("\n");
  expect(listed[0]).toMatch(/STEPS +PAUSED$/);
  expect(listed[1]).toContain(`itself, since ${WORDS}; every run, since ${AT} by bob: a restore`);
  expect(listed[2]).toMatch(/1$/);
});
