import { beforeEach, describe, expect, it } from "vitest";
import { GhoulsError, type wire } from "@ghouls/core";
import { createHttpApp } from "./apps.ts";
import type { FetchHandler } from "./context.ts";
import { ask, Fakes, REDRIVEN_ID, RUN_ID } from "./fakes.support.ts";

let fakes: Fakes;
let app: FetchHandler;
beforeEach(() => {
  fakes = new Fakes();
  app = createHttpApp(fakes);
});

const post = (path: string, body: unknown, token = "operator") =>
  app(ask("POST", path, { token, body: JSON.stringify(body) }));

describe("a redrive", () => {
  it("names the new run and the old one, and keeps who asked and why", async () => {
    const response = await post(`/v1/runs/${RUN_ID}/redrive`, { reason: " mended " });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ runId: REDRIVEN_ID, redriveOf: RUN_ID, kept: 2 });
    expect(fakes.admission.redriven).toEqual([{ subject: "olga", reason: "mended" }]);
  });

  it("without a reason is refused", async () => {
    for (const body of [{}, { reason: "" }, { reason: "x", from: 1 }])
      expect((await post(`/v1/runs/${RUN_ID}/redrive`, body)).status).toBe(422);
    expect(fakes.admission.redriven).toEqual([]);
  });

  it.each(["not_redrivable", "redriven_before"] as const)(
    "that is %s is a 409 with the fix and its name",
    async (code) => {
      const issues = [{ path: "/effect_unknown", message: "nobody knows" }];
      fakes.admission.failure = { thrown: new GhoulsError(code, "no", { fix: "submit it anew", issues }) };
      const response = await post(`/v1/runs/${RUN_ID}/redrive`, { reason: "x" });
      expect(response.status).toBe(409);
      expect((await response.json()) as wire.Problem).toMatchObject({
        type: `urn:ghouls:problem:${code}`,
        fix: "submit it anew",
        errors: issues,
      });
    },
  );
});

describe("a cancel by filter", () => {
  const path = "/v1/runs/cancel";

  it("takes its tenant from who asks", async () => {
    const filter = {
      status: ["QUEUED", "AWAITING_CONSENT"],
      workflow: "hello",
      admittedAfter: "2026-01-01T00:00:00Z",
      admittedBefore: "2026-02-01T00:00:00Z",
      parentRunId: RUN_ID,
      attention: true,
    };
    expect((await post(path, { filter, reason: "x", dryRun: true }, "foreign")).status).toBe(200);
    expect(fakes.control.acts).toEqual([
      { subject: "fred", act: `cancel t2 ${JSON.stringify(filter)}`, reason: "x" },
    ]);
  });

  it.each([
    ["no filter", { reason: "x" }],
    ["an empty filter", { filter: {}, reason: "x" }],
    ["an empty list of statuses", { filter: { status: [] }, reason: "x" }],
    ["a status that has ended", { filter: { status: ["DONE"] }, reason: "x" }],
    ["a filter that is misspelt", { filter: { worklfow: "hello" }, reason: "x" }],
    ["a filter that says nothing", { filter: { attention: false }, reason: "x" }],
    ["a run id that is none", { filter: { parentRunId: "x" }, reason: "x" }],
    ["a time that is none", { filter: { admittedBefore: "yesterday" }, reason: "x" }],
    ["no reason", { filter: { workflow: "hello" } }],
    ["a page above the most", { filter: { workflow: "hello" }, reason: "x", limit: 101 }],
    ["a tenant", { filter: { workflow: "hello" }, reason: "x", tenantId: "t1" }],
  ])("with %s is refused, and cancels nothing", async (_, body) => {
    const response = await post(path, body);
    expect(response.status).toBe(422);
    expect(fakes.control.acts).toEqual([]);
  });
});
