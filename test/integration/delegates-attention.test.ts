import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Codec, JobReport } from "@ghouls/core";
import { jobService } from "../support/job-service.ts";
import { testWorld } from "../support/world.ts";

const service = jobService();
const other = jobService({ cancel: "advisory" });
const once = jobService({ submit: "once", lookup: "advisory" });
const mute = jobService({ lookup: "none", cancel: "none", submit: "once" }, { pollMs: null });
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const delegates = workflow({
  ...base,
  name: "delegates",
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }),
});
const onces = workflow({
  ...base,
  name: "onces",
  run: (ctx) => ctx.delegate("sign", once, { what: "it" }),
});
const mutes = workflow({ ...base, name: "mutes", run: (ctx) => ctx.delegate("sign", mute, { what: "it" }) });
const pairs = workflow({
  ...base,
  name: "pairs",
  run: async (ctx) => {
    const one = ctx.delegate("one", service, { what: "it" });
    const two = ctx.delegate("two", other, { what: "it" });
    await one;
    await two;
    return "done";
  },
});

let encodeFails: string | undefined;
let decodeFails: string | undefined;
const codec: Codec = {
  encode: (text, { kind }) =>
    kind === encodeFails ? Promise.reject(new Error("the key service is down")) : Promise.resolve(text),
  decode: (text, { kind }) =>
    kind === decodeFails ? Promise.reject(new Error("the key service is down")) : Promise.resolve(text),
};
const world = await testWorld({
  workflows: [delegates, pairs, onces, mutes],
  services: { service, other, once, mute },
  codec,
});
const { later } = world;

beforeEach(async () => {
  for (const one of [service, other, once, mute]) one.forget();
  encodeFails = decodeFails = undefined;
  world.logged.length = 0;
  await world.reset();
});
const attempts = async () => (await world.attempts.list("acme", {}, { limit: 10 })).attempts;
const SIGNED: JobReport = { state: "succeeded", result: { done: "signed" } };

describe("attention", () => {
  test("that was asked for while a request could not be read goes once it was, and its run is done", async () => {
    decodeFails = "job";
    const { runId } = await world.submit("delegates");
    await world.drain();
    // A codec that is away for a moment asks for nobody.
    await later(120);
    expect((await world.view(runId)).attention).toBeNull();
    for (let round = 0; round < 3; round += 1) await later(120);
    expect((await world.view(runId)).attention?.reason).toContain("the key service is down");
    decodeFails = undefined;
    await later(600);
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_DELEGATE", attention: null });
    service.says(SIGNED);
    await later(600);
    const view = await world.view(runId);
    expect(view.status).toBe("DONE");
    expect(view.attention).toBeNull();
  });

  test("for a contradiction is there still when another job of its run is known again", async () => {
    const { runId } = await world.submit("pairs");
    await world.drain();
    // The first is unknown to everybody, and asks for a person.
    service.misbehave = () => Promise.resolve({ state: "unknown", why: "it answered 500" });
    for (let round = 0; round < 6; round += 1) await later(120);
    expect((await world.view(runId)).attention?.reason).toContain("attempt_uncertain");
    // The second ends, and then says the opposite.
    const { attemptId, callback } = other.only().submission;
    await world.attempts.report(attemptId, callback?.token, SIGNED);
    await world.drain();
    await world.attempts
      .report(attemptId, callback?.token, { state: "failed", error: { code: "no", message: "no" } })
      .catch(() => undefined);
    expect((await world.attempts.get("acme", attemptId))?.contradiction).toContain("it failed");
    // The first is found again.
    service.misbehave = undefined;
    for (let round = 0; round < 3; round += 1) await later(600);
    expect((await attempts()).find((one) => one.name === "one")?.status).toBe("SUBMITTED");
    expect((await world.view(runId)).attention?.reason).toContain("attempt_contradicted");
  });

  test("names the job of which nobody knows still, when another is known again", async () => {
    const { runId } = await world.submit("pairs");
    await world.drain();
    const nobody = () => Promise.resolve({ state: "unknown", why: "it answered 500" } as const);
    service.misbehave = nobody;
    for (let round = 0; round < 6; round += 1) await later(120);
    other.misbehave = nobody;
    for (let round = 0; round < 6; round += 1) await later(600);
    service.misbehave = undefined;
    for (let round = 0; round < 3; round += 1) await later(600);
    expect((await attempts()).map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual([
      "one SUBMITTED",
      "two UNCERTAIN",
    ]);
    expect((await world.view(runId)).attention?.reason).toContain('"two"');
  });

  test("is asked for where what a job ended with can never be kept", async () => {
    const { runId } = await world.submit("delegates");
    await world.drain();
    service.says(SIGNED);
    encodeFails = "report";
    for (let hour = 0; hour < 48; hour += 1) await later(3_600);
    expect((await world.view(runId)).attention).not.toBeNull();
  }, 60_000);
});

describe("a submission", () => {
  test("is not claimed by whoever has no time left to send it", async () => {
    const { runId } = await world.submit("onces");
    // The worker's invocation ends while it parks.
    const messages = await world.queue.receive("runs", { max: 10, waitSeconds: 0 });
    let parked = false;
    const watch = world.ledger.deliveries.parkIfClaimed;
    const deps = {
      ledger: {
        ...world.ledger,
        deliveries: {
          ...world.ledger.deliveries,
          parkIfClaimed: async (...args: Parameters<typeof watch>) => {
            const answer = await watch(...args);
            parked = true;
            return answer;
          },
        },
      },
    };
    await world.deliver(
      messages.map(({ body }) => body),
      deps,
      { limitMs: 900_000, remainingMs: () => (parked ? 0 : 900_000) },
    );
    expect((await world.view(runId)).status).toBe("AWAITING_DELEGATE");
    expect(once.asked).toEqual([]);
    for (let minute = 0; minute < 60; minute += 1) await later(60);
    expect(once.asked).toContain("submit");
    expect((await world.view(runId)).attention).toBeNull();
  }, 60_000);

  test("whose answer, its result, cannot be kept just now asks for a person where its service cannot be asked", async () => {
    mute.misbehave = (question) => Promise.resolve(question === "submit" ? SIGNED : undefined);
    encodeFails = "report";
    const { runId } = await world.submit("mutes");
    await world.drain();
    encodeFails = undefined;
    for (let hour = 0; hour < 24; hour += 1) await later(3_600);
    expect(mute.asked).toEqual(["submit"]);
    expect((await world.view(runId)).attention?.reason).toContain("attempt_uncertain");
  }, 60_000);
});

describe("what is kept of a job", () => {
  test.each([
    ["behind a line break", (token: string) => `line\n${token}`],
    ["behind a tab", (token: string) => `x\t${token}`],
    ["in a query", (token: string) => `https://x/?callback=my-${token}`],
  ])("does not hold the callback's token %s", async (_what, text) => {
    await world.submit("delegates");
    await world.drain();
    const token = service.only().submission.callback?.token ?? "";
    // A lookup: what echoes the token has it from its submission.
    service.says({ state: "succeeded", result: { done: text(token) } });
    await later(31);
    expect(JSON.stringify(await world.db.admin("select * from ghouls.attempts"))).not.toContain(token);
  });
});
