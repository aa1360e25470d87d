import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Codec, JobAnswer } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const HOUR = 3_600;
/** Longer than any submission can be on its way: 15 minutes of an invocation, and a margin. */
const MEMORY = 2 * HOUR;
const service = jobService({ remembersSeconds: MEMORY });
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }),
});
/** Whether the codec can read no request just now. */
let away = false;
const pass: Codec["encode"] = (text, { kind }) =>
  away && kind === "job" ? Promise.reject(new Error("the key service is down")) : Promise.resolve(text);
const world = await testWorld({
  workflows: [delegates],
  services: { service },
  codec: { encode: pass, decode: pass },
});
const { later, onlyAttempt: attempt } = world;
beforeEach(async () => {
  away = false;
  service.forget();
  await world.reset();
});

const SILENT: JobAnswer = { state: "unknown", why: "503" };
const ABSENT: JobAnswer = { state: "absent" };
const sent = () => service.asked.filter((question) => question === "submit").length;

/** A job that its service has taken, has done and then forgotten, while nobody had an answer. */
async function forgotten(): Promise<string> {
  service.misbehave = () => Promise.resolve(SILENT);
  const { runId } = await world.submit("delegates");
  await world.drain();
  await later(MEMORY + 1);
  service.misbehave = () => Promise.resolve(ABSENT);
  return runId;
}

describe("a job that a service does not find when it may have forgotten it", () => {
  test("is not sent again, and a person is asked for", async () => {
    const runId = await forgotten();
    for (let turn = 0; turn < 3; turn += 1) await later(HOUR);
    expect(sent()).toBe(1);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN" });
    expect((await world.view(runId)).attention?.reason).toContain("forgotten");
  });

  test("is not CANCELLED by that", async () => {
    const runId = await forgotten();
    await world.control.cancel(SOMEBODY, runId, "enough");
    for (let turn = 0; turn < 3; turn += 1) await later(HOUR);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN" });
    expect(await world.view(runId)).toMatchObject({
      status: "CANCELLING",
      attention: { reason: expect.stringContaining("attempt_uncertain") as string },
    });
  });

  test("is adopted as ever if it is found after all", async () => {
    const runId = await forgotten();
    await later(HOUR);
    service.misbehave = () => Promise.resolve({ state: "succeeded", result: { done: "it" } });
    await later(HOUR);
    expect(await world.view(runId)).toMatchObject({ status: "DONE", attention: null });
  });
});

describe("a service's memory that ends while it is asked", () => {
  /** Lookups take until the memory has ended, by the ledger's clock, and find nothing. */
  const asksTooLong = async () => {
    service.misbehave = () => Promise.resolve(SILENT);
    const { runId } = await world.submit("delegates");
    await world.drain();
    await world.advance(MEMORY - 30);
    const asked: string[] = [];
    service.misbehave = async (question) => {
      asked.push(question);
      if (asked.length === 1) await world.advance(31);
      return ABSENT;
    };
    return { runId, asked };
  };

  test("lets nobody send again what it does not find", async () => {
    const { asked } = await asksTooLong();
    await later(0);
    expect([asked, (await attempt()).submissions]).toEqual([["lookUp"], 1]);
    for (let turn = 0; turn < 3; turn += 1) await later(HOUR);
    expect(asked).not.toContain("submit");
    expect((await attempt()).status).toBe("UNCERTAIN");
  });

  test("lets nobody call CANCELLED what it does not find", async () => {
    const { runId } = await asksTooLong();
    await world.control.cancel(SOMEBODY, runId, "enough");
    await later(0);
    expect((await world.view(runId)).status).toBe("CANCELLING");
  });
});

describe("a service's memory", () => {
  test("is counted from the claim of the submission, and not from when the last of it could have been sent", async () => {
    service.misbehave = () => Promise.resolve(SILENT);
    await world.submit("delegates");
    await world.drain();
    await world.advance(MEMORY + 1);
    service.misbehave = () => Promise.resolve(ABSENT);
    const [row] = await world.db.admin<{ seconds: number }>(
      "select extract(epoch from sends_until - sends_from)::float as seconds from ghouls.attempts",
    );
    // As long as what it had sent could act: the memory has ended for what arrived at once.
    expect(row?.seconds).toBeGreaterThan(30);
    await later(0);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN", submissions: 1 });
  });

  test("is long enough for a job that is not found in time: it is sent again, and counted anew", async () => {
    service.misbehave = (question) => Promise.resolve(question === "submit" ? SILENT : ABSENT);
    await world.submit("delegates");
    await world.drain();
    await later(HOUR);
    expect(sent()).toBe(2);
    await later(HOUR + 1);
    expect(sent()).toBe(3);
    expect((await attempt()).status).toBe("SUBMITTING");
  });

  test("says nothing of a job that was never sent, or of which nothing was", async () => {
    away = true;
    await world.submit("delegates");
    await world.drain();
    await later(MEMORY + HOUR);
    expect(sent()).toBe(0);
    away = false;
    service.misbehave = () => Promise.resolve({ state: "unsent", why: "no connection" });
    for (let turn = 0; turn < 3; turn += 1) await later(MEMORY + HOUR);
    const before = sent();
    expect(before).toBeGreaterThan(1);
    service.misbehave = undefined;
    await later(MEMORY + HOUR);
    expect([sent(), (await attempt()).status]).toEqual([before + 1, "SUBMITTED"]);
  });

  test("of an attempt that an engine of before has claimed is counted from when it was made", async () => {
    service.misbehave = () => Promise.resolve(SILENT);
    await world.submit("delegates");
    await world.drain();
    await world.db.admin("update ghouls.attempts set sends_from = null");
    await later(MEMORY + 1);
    service.misbehave = () => Promise.resolve(ABSENT);
    await later(HOUR);
    expect(await attempt()).toMatchObject({ status: "UNCERTAIN", submissions: 1 });
  });
});

test("a job that was taken, and is not found before a lookup must see it, troubles nobody", async () => {
  const { runId } = await world.submit("delegates");
  await world.drain();
  service.misbehave = () => Promise.resolve(ABSENT);
  // Within the delay after its answer.
  await world.db.admin("update ghouls.attempts set next_look_at = ghouls.clock()");
  await later(0);
  expect(await attempt()).toMatchObject({ status: "SUBMITTED", trouble: null });
  expect((await world.view(runId)).attention).toBeNull();
  await later(HOUR);
  expect((await attempt()).status).toBe("UNCERTAIN");
});
