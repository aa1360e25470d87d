import { beforeEach, describe, expect, test, vi } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { createAdmissionApp } from "@ghouls/api";
import { BUILT_IN_ROLES } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { SOMEBODY, testWorld } from "../support/world.ts";
import { idsOf, tracing } from "../support/tracing.ts";

const child = workflow({
  name: "child",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: () => Promise.resolve("grown"),
});
const twice = workflow({
  name: "twice",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: async (ctx) => {
    await ctx.step("before", () => 1);
    await ctx.sleep("1h");
    await ctx.child(child, null);
    return ctx.step("after", () => {
      throw new RangeError("hunter2");
    });
  },
});
const world = await testWorld({ workflows: [twice, child] });
const { spans, reset } = tracing();
const app = createAdmissionApp({
  authenticate: () => Promise.resolve({ ...SOMEBODY, permissions: BUILT_IN_ROLES.operator }),
  requestId: () => "request-1",
  log: world.deps.log,
  admission: world.admission,
  control: world.control,
  pauses: world.pauses,
  consents: world.consents,
  signals: world.signals,
  attempts: world.attempts,
  integrity: {
    list: () => Promise.reject(new Error("none is listed here")),
    acknowledge: () => Promise.reject(new Error("none is acknowledged here")),
  },
  reconciler: { run: () => Promise.reject(new Error("none is run here")) },
});

beforeEach(async () => {
  await world.reset();
  reset();
  world.logged.length = 0;
});

const CALLER = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };

async function post(traceparent?: string): Promise<string> {
  const answer = await app(
    new Request("http://127.0.0.1/v1/runs", {
      method: "POST",
      headers: {
        authorization: "Bearer token",
        "content-type": "application/json",
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      body: JSON.stringify({ workflow: "twice", input: null }),
    }),
  );
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { runId: string }).runId;
}
const hopOf = (runId: string, seq: number) =>
  spans("ghouls.hop").find(
    ({ attributes }) => attributes["ghouls.run_id"] === runId && attributes["ghouls.enqueue_seq"] === seq,
  );
const stepOf = (name: string) =>
  spans("ghouls.step").find(({ attributes }) => attributes["ghouls.step"] === name);

describe("spans", () => {
  test("go from a caller's request through the API and the hop to its steps, in the caller's trace", async () => {
    const runId = await post(`00-${CALLER.trace}-${CALLER.span}-01`);
    await world.drain();
    const [request] = spans("ghouls.request");
    expect(idsOf(request)).toMatchObject({ trace: CALLER.trace, parent: CALLER.span });
    expect(request?.attributes).toMatchObject({ "http.route": "/v1/runs", "http.response.status_code": 202 });
    const hop = hopOf(runId, 1);
    expect(idsOf(hop)).toMatchObject({ trace: CALLER.trace, parent: idsOf(request).span });
    expect(hop?.attributes).toMatchObject({
      "ghouls.cause": "admitted",
      "ghouls.workflow": "twice",
      "ghouls.outcome": "AWAITING_TIMER",
    });
    expect(idsOf(stepOf("before"))).toMatchObject({ trace: CALLER.trace, parent: idsOf(hop).span });
    // The batch that brought its message is another trace, which it is linked to.
    const batch = spans("ghouls.work").find((span) => idsOf(hop).links.includes(idsOf(span).span ?? ""));
    expect(idsOf(batch).trace).not.toBe(CALLER.trace);
  });

  test("of a hop that was brought back begin a new trace, linked to the hop that parked", async () => {
    const runId = await post();
    await world.drain();
    await world.later(3_700);
    const [parked, resumed] = [hopOf(runId, 1), hopOf(runId, 2)];
    expect(idsOf(resumed).trace).not.toBe(idsOf(parked).trace);
    expect(idsOf(resumed).parent).toBeUndefined();
    expect(idsOf(resumed).links).toContain(idsOf(parked).span);
    // The child is part of the hop that has started it.
    const ofChild = spans("ghouls.hop").find(({ attributes }) => attributes["ghouls.workflow"] === "child");
    expect(idsOf(ofChild)).toMatchObject({ trace: idsOf(resumed).trace, parent: idsOf(resumed).span });
    const failed = hopOf(runId, 3);
    expect(failed?.status.message).toBe("step_failed");
    expect(stepOf("after")?.status.message).toBe("RangeError");
    expect(
      JSON.stringify(spans().map(({ status, attributes, events }) => [status, attributes, events])),
    ).not.toContain("hunter2");
  });

  test("of a header that is no traceparent begin a trace of their own, and none is kept of nobody's", async () => {
    const runId = await post("00-00000000000000000000000000000000-0000000000000000-01");
    await world.drain();
    expect(idsOf(spans("ghouls.request")[0]).parent).toBeUndefined();
    expect(idsOf(hopOf(runId, 1)).trace).toBe(idsOf(spans("ghouls.request")[0]).trace);
  });

  test("are not what a run waits for: a ledger that keeps no traces changes nothing else", async () => {
    const refused = () => Promise.reject(new Error("hunter2"));
    const traces = { markMade: refused, markMadeIn: refused, markHop: refused, ofClaims: refused };
    const spied = vi.spyOn(world.ledger.traces, "markMade").mockImplementation(refused);
    const runId = await post().finally(() => spied.mockRestore());
    await world.drain({ deps: { ledger: { ...world.ledger, traces } as Ledger } });
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_TIMER" });
    expect(
      world.logged
        .filter(({ level }) => level === "warn")
        .map(({ message, fields }) => [message, fields["error"]]),
    ).toEqual([
      ["the trace of an admission could not be kept", "Error"],
      ["the traces of a batch could not be read", "Error"],
      ["the trace of a hop could not be kept", "Error"],
    ]);
  });
});
