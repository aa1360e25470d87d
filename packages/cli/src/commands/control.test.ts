import { describe, expect, it } from "vitest";
import { api, AT, ghouls, RUN_ID, VIEW } from "../fakes.support.ts";

const NOT_FOUND = {
  type: "urn:ghouls:problem:not_found",
  title: "Not found",
  status: 404,
  detail: "There is no such run.",
  fix: "Check the id.",
  requestId: "r1",
};

describe("release", () => {
  it("says whether this call did it", async () => {
    const path = `POST /v1/runs/${RUN_ID}/release`;
    const answer = { runId: RUN_ID, enqueueSeq: 1, released: true };
    const server = await api({ [path]: [answer, { ...answer, released: false }] });
    expect(await ghouls(["release", RUN_ID], { env: server.env })).toMatchObject({
      code: 0,
      out: "released\n",
    });
    expect((await ghouls(["release", RUN_ID], { env: server.env })).out).toContain("before");
    expect(JSON.parse((await ghouls(["release", RUN_ID, "--json"], { env: server.env })).out)).toMatchObject({
      released: false,
    });
  });
});

it("tells its version", async () => {
  expect((await ghouls(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe("cancel", () => {
  it("says what the run is now, and sends the reason", async () => {
    const server = await api({
      [`POST /v1/runs/${RUN_ID}/cancel`]: { runId: RUN_ID, cancelled: true, status: "CANCELLING" },
    });
    const outcome = await ghouls(["cancel", RUN_ID, "--reason", "no longer wanted"], { env: server.env });
    expect(outcome).toMatchObject({ code: 0, out: "CANCELLING\n" });
    expect(server.asked.map((one) => one.body)).toEqual([{ reason: "no longer wanted" }]);
  });

  it("of a run that was decided before is an exit code of 1 that says what was decided", async () => {
    const server = await api({
      [`POST /v1/runs/${RUN_ID}/cancel`]: { runId: RUN_ID, cancelled: false, status: "DONE" },
    });
    const outcome = await ghouls(["cancel", RUN_ID, "--reason", "late"], { env: server.env });
    expect(outcome).toMatchObject({ code: 1, out: "decided before: DONE\n" });
  });

  it("without a reason is a wrong call", async () => {
    const server = await api({});
    expect(await ghouls(["cancel", RUN_ID], { env: server.env })).toMatchObject({ code: 2 });
  });
});

describe("resolve", () => {
  it("says what is left, and that the run has ended", async () => {
    const answer = { runId: RUN_ID, item: "effect-0123456789ab", openItems: 0, status: "FAILED" };
    const server = await api({ [`POST /v1/runs/${RUN_ID}/items/effect-0123456789ab/resolution`]: answer });
    const args = ["resolve", RUN_ID, "effect-0123456789ab", "--reason", "seen in the bank's list"];
    expect(await ghouls(args, { env: server.env })).toMatchObject({
      code: 0,
      out: "effect-0123456789ab is settled; 0 left; the run is FAILED\n",
    });
    expect(JSON.parse((await ghouls([...args, "--json"], { env: server.env })).out)).toEqual(answer);
  });

  it("of an item that is not there fails with the fix", async () => {
    const server = await api({ [`POST /v1/runs/${RUN_ID}/items/worker-9/resolution`]: NOT_FOUND });
    const outcome = await ghouls(["resolve", RUN_ID, "worker-9", "--reason", "x"], { env: server.env });
    expect(outcome.code).toBe(1);
    expect(outcome.err).toContain("Check the id.");
  });
});

describe("show", () => {
  it("lists what must be acknowledged, and what was", async () => {
    const item = { id: "worker-1", kind: "worker", subject: "runs-1", enqueueSeq: 1, createdAt: AT };
    const open = { ...item, overAt: AT, acknowledgedAt: null, acknowledgedBy: null, acknowledgement: null };
    const forever = { ...open, id: "effect-1", kind: "effect", subject: "pay", overAt: null };
    const done = {
      ...open,
      id: "worker-2",
      acknowledgedAt: AT,
      acknowledgedBy: "time",
      acknowledgement: "it is over",
    };
    const server = await api({
      [`GET /v1/runs/${RUN_ID}`]: {
        ...VIEW,
        status: "CANCELLING",
        finishedAt: null,
        containment: [open, forever, done],
      },
      [`GET /v1/runs/${RUN_ID}/timeline`]: { runId: RUN_ID, status: "CANCELLING", entries: [] },
    });
    const { out } = await ghouls(["show", RUN_ID], { env: server.env });
    expect(out).toContain(`worker-1              runs-1, delivery 1: open, over at ${AT}`);
    expect(out).toContain("effect-1              pay, delivery 1: open\n");
    expect(out).toContain("acknowledged by time: it is over");
  });
});
