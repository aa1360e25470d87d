import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { Attempt } from "@ghouls/ledger";
import { jobService } from "../support/job-service.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

const service = jobService();
const delegates = workflow({
  name: "delegates",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.delegate("sign", service, { what: "it" }, { deadline: "1h" }),
});
let unsent = false;
const world = await testWorld({
  workflows: [delegates],
  services: { signer: service },
  faults: (point) => {
    if (unsent && point === "delegate.before-claim") throw new Error("by a test");
  },
});
const { db, ledger } = world;

beforeEach(async () => {
  service.forget();
  await world.reset();
});

/** A parked run with its attempt, DEFINED where it is not sent. */
async function parked(sent: boolean): Promise<Attempt> {
  unsent = !sent;
  const { runId } = await world.submit("delegates");
  await world.drain();
  const { attempts } = await world.attempts.list("acme", { runId }, { limit: 1 });
  const found = await ledger.attempts.get({ tenantId: "acme", attemptId: attempts[0]?.attemptId ?? "" });
  if (found === null) throw new Error("no attempt");
  return found;
}
const claim = (attempt: Pick<Attempt, "tenantId" | "runId" | "attemptId" | "status" | "token">) =>
  ledger.attempts.claimSubmission(attempt, {
    token: randomUUID(),
    submitter: "w",
    sendsForSeconds: 60,
    callbackDigest: null,
    callbackSeconds: 60,
    nextLookSeconds: 15,
  });

describe("a submission is claimed", () => {
  test("where nothing speaks against it: as the statement stands, each of the others is one term", async () => {
    expect(await claim(await parked(false))).toBe(true);
  });

  test("again from UNCERTAIN, where it was proven to be absent", async () => {
    const attempt = await parked(true);
    await db.admin(
      "update ghouls.attempts set status = 'UNCERTAIN', uncertain_reason = 'x', acknowledged_at = null",
    );
    await world.ledger.runs.raiseAttention(attempt, "attempt_uncertain: a test");
    expect(await claim({ ...attempt, status: "UNCERTAIN" })).toBe(true);
    // Somebody knows of it again.
    expect((await world.view(attempt.runId)).attention).toBeNull();
  });

  test.each([
    ["its deadline has passed", "update ghouls.attempts set deadline_at = ghouls.clock()"],
    [
      "its cancel was asked for",
      "update ghouls.attempts set cancel_asked_at = ghouls.clock(), cancel_reason = 'ended'",
    ],
    ["its service has acknowledged it", "update ghouls.attempts set acknowledged_at = ghouls.clock()"],
    ["its arm is closed", "update ghouls.arms set closed_at = ghouls.clock(), closing = 'restart'"],
    ["its run stands in a later wait without it", "update ghouls.arms set generation = generation - 1"],
    ["its run is under way", "update ghouls.runs set status = 'QUEUED'"],
    [
      "its run is quarantined",
      "update ghouls.runs set quarantined_at = ghouls.clock(), quarantine_reason = 'x'",
    ],
    [
      "somebody else has claimed it",
      "update ghouls.attempts set status = 'SUBMITTING', submissions = 1, token = gen_random_uuid(), submitter = 'v', sends_until = ghouls.clock()",
    ],
  ])("by nobody where %s", async (_what, change) => {
    const attempt = await parked(false);
    await db.admin(change);
    expect(await claim(attempt)).toBe(false);
  });

  test.each([
    ["the tenant", { tenantId: "other" }],
    ["the run", { runId: randomUUID() }],
    ["the token", { token: randomUUID() }],
    ["the state", { status: "UNCERTAIN" as const }],
  ])("by nobody who names another of %s", async (_what, other) => {
    expect(await claim({ ...(await parked(false)), ...other })).toBe(false);
  });

  test("once of two at the same time", async () => {
    const attempt = await parked(false);
    expect(new Set(await Promise.all([claim(attempt), claim(attempt)]))).toEqual(new Set([false, true]));
  });
});

describe("an attempt that was sent", () => {
  test.each(["SUBMITTED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"])(
    "and is %s is claimed by nobody, whatever was read",
    async (status) => {
      const attempt = await parked(true);
      const final = ["SUCCEEDED", "FAILED", "CANCELLED"].includes(status);
      await db.admin(
        `update ghouls.attempts set status = $1, acknowledged_at = null,
           closed_at = case when $2 then ghouls.clock() end, closed_by = case when $2 then 'x' end,
           next_look_at = case when $2 then null else next_look_at end,
           report_text = case when $1 in ('SUCCEEDED', 'FAILED') then '1' end,
           report_digest = case when $1 in ('SUCCEEDED', 'FAILED') then 'd' end`,
        [status, final],
      );
      expect(await claim({ ...attempt, status: status as Attempt["status"] })).toBe(false);
      // Else the doctor of the other tests would find a run that nobody brings back.
      await world.control.cancel(SOMEBODY, attempt.runId, "a test");
    },
  );

  test("is looked at no later than its heartbeat, its deadline, and the end of what is on its way", async () => {
    const attempt = await parked(true);
    const looks = async (change: string, status: "SUBMITTED" | "UNCERTAIN") => {
      await db.admin(`update ghouls.attempts set ${change}`);
      const next = { by: "x", acknowledged: false, missed: false, nextLookSeconds: 3_000 } as const;
      await ledger.attempts.change(attempt, () => ({ ...next, status, why: "x" }), {
        publisherGraceSeconds: 1,
      });
      const [row] = await db.admin<{ seconds: number }>(
        "select round(extract(epoch from next_look_at - ghouls.clock()))::integer as seconds from ghouls.attempts",
      );
      return row?.seconds;
    };
    const far =
      "deadline_at = null, heartbeat_seconds = null, sends_until = ghouls.clock() - interval '1 hour'";
    expect(await looks(far, "SUBMITTED")).toBe(3_000);
    expect(await looks("heartbeat_seconds = 100, heartbeat_at = ghouls.clock()", "SUBMITTED")).toBe(100);
    expect(await looks("deadline_at = ghouls.clock() + interval '50 seconds'", "SUBMITTED")).toBe(50);
    expect(await looks(`${far}`, "UNCERTAIN")).toBe(3_000);
    // The delay of 5 s, and one more.
    expect(await looks("sends_until = ghouls.clock() + interval '20 seconds'", "UNCERTAIN")).toBe(26);
  });
});

test("a cancel is asked for only of the attempt that was read", async () => {
  const attempt = await parked(true);
  expect(await ledger.attempts.askToCancel({ ...attempt, token: randomUUID() }, "ended")).toBe(false);
  expect(await ledger.attempts.askToCancel({ ...attempt, status: "RUNNING" }, "ended")).toBe(false);
  expect(await ledger.attempts.askToCancel({ ...attempt, attemptId: randomUUID() }, "ended")).toBe(false);
  expect(await ledger.attempts.askToCancel(attempt, "deadline")).toBe(true);
  expect((await ledger.attempts.get(attempt))?.cancelReason).toBe("deadline");
});
