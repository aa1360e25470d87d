import { beforeEach, describe, expect, test, vi } from "vitest";
import { isTerminalRun } from "@ghouls/core";
import { digger, digs } from "./crash-states.ts";
import { crashWorld } from "./crash-world.ts";
import type { TestDatabase } from "./database.ts";
import type { Fault } from "./fault-plan.ts";
import { CREDENTIALS } from "./queue.ts";
import { statesServer } from "./states-server.ts";
import { victims } from "./victims.ts";
import { until } from "./wait.ts";
import { SOMEBODY } from "./world.ts";

const MINUTES = 40;
/** Longer than a submission can be on its way, and than Step Functions may take to show it. */
const LATE_SECONDS = 200;
const FOUND = '{"found":"bones"}';

/**
 * Jobs of forty minutes of the ledger's time, whose worker is gone meanwhile: one execution, one result.
 * @param emulator address of one that has Step Functions; one in this process where it is undefined
 */
export async function diggingTests(emulator?: string, db?: TestDatabase): Promise<void> {
  const states = await statesServer(emulator);
  vi.stubEnv("AWS_ENDPOINT_URL_SFN", states.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", CREDENTIALS.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secretAccessKey);
  const world = await crashWorld({
    services: { digger },
    workflows: [digs],
    ...(db === undefined ? {} : { db }),
  });
  const start = () => world.start({ states: states.url });
  const survivor = await start();
  const victim = victims(start);
  beforeEach(() => states.reset());

  const attemptOf = async (runId: string) => {
    const { attempts } = await world.attempts.list(SOMEBODY.tenantId, { runId }, { limit: 2 });
    expect(attempts).toHaveLength(1);
    return attempts[0];
  };
  const executionsOf = async (runId: string) => {
    const name = `ghouls-${(await attemptOf(runId))?.attemptId}`;
    return (await states.backend.executions()).filter((one) => one === name).length;
  };
  const later = async (seconds: number) => {
    await world.advance(seconds);
    await world.reconcile();
    while ((await world.step(survivor)) !== undefined);
  };
  const starts = () => states.asked.filter((action) => action === "StartExecution").length;

  /** Submits a run to a worker that dies on the way. */
  async function abandoned(faults: readonly Fault[], killsWhenStarted = false): Promise<string> {
    const worker = await victim(faults);
    if (killsWhenStarted)
      states.onStarted = async () => {
        worker.signal("SIGKILL");
        await worker.ended;
      };
    const { runId } = await world.submit("digs");
    const messages = await world.receive();
    expect(await worker.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    return runId;
  }

  /** Submits a run to a worker that lives. */
  async function carried(): Promise<string> {
    const { runId } = await world.submit("digs");
    while ((await world.step(survivor)) !== undefined);
    return runId;
  }

  /** The forty minutes, then its end, and what must have come of it. */
  async function holds(runId: string): Promise<void> {
    for (let minute = 0; minute < MINUTES; minute += 10) await later(10 * 60);
    expect(await world.view(runId)).toMatchObject({ status: "AWAITING_DELEGATE", attention: null });
    expect(await executionsOf(runId)).toBe(1);
    await ends(runId);
  }

  async function ends(runId: string): Promise<void> {
    await states.backend.finish(FOUND);
    await until("the end of the run", async () => {
      await later(5 * 60);
      return isTerminalRun((await world.view(runId)).status);
    });
    expect(await world.view(runId)).toMatchObject({
      status: "DONE",
      output: { outcome: "SUCCEEDED", result: JSON.parse(FOUND) as unknown },
      attention: null,
    });
    expect(await executionsOf(runId)).toBe(1);
    expect(await world.broken()).toEqual([]);
  }

  const at = (point: Fault["point"]): Fault => ({ point, detail: "StartExecution", action: "kill" });

  describe("one execution and one result", () => {
    test.each<[string, Fault[], boolean, number]>([
      ["before it has started anything", [at("states.before-ask")], false, 1],
      ["when its start was carried out and not answered", [], true, 1],
      ["when its start was answered and nothing written", [at("states.after-ask")], false, 1],
      ["when its answer was written", [{ point: "delegate.after-answer", action: "kill" }], false, 1],
    ])("of a worker killed with -9 %s", async (_what, faults, whenStarted, sent) => {
      const runId = await abandoned(faults, whenStarted);
      await holds(runId);
      expect(starts()).toBe(sent);
    });

    test("of a start whose answer is lost", async () => {
      states.nextStart = "lose answer";
      const runId = await carried();
      expect(await attemptOf(runId)).toMatchObject({ status: "SUBMITTING", acknowledgedAt: null });
      await holds(runId);
      expect(starts()).toBe(1);
    });

    test.each(["double", "lose answer and double"] as const)(
      "of a start that is doubled: %s",
      async (fate) => {
        states.nextStart = fate;
        await holds(await carried());
      },
    );

    test("of a start that is throttled first, and made later", async () => {
      states.nextStart = "throttle";
      const runId = await carried();
      expect(await attemptOf(runId)).toMatchObject({
        trouble: { why: expect.stringContaining("Throttling") },
      });
      expect(await executionsOf(runId)).toBe(0);
      await holds(runId);
      expect(starts()).toBe(2);
    });

    test("of one that nobody sees for a while, whose start was answered", async () => {
      const runId = await carried();
      expect((await attemptOf(runId))?.status).toBe("SUBMITTED");
      states.blind = true;
      for (let second = 0; second < 50; second += 10) await later(10);
      expect(states.asked).toContain("DescribeExecution");
      expect(await world.view(runId)).toMatchObject({ attention: null });
      states.blind = false;
      await holds(runId);
      expect(starts()).toBe(1);
    });

    test("of one that nobody sees for a while, whose worker was killed", async () => {
      states.blind = true;
      const runId = await abandoned([at("states.after-ask")]);
      for (let second = 0; second < 50; second += 10) await later(10);
      expect(states.asked).toContain("DescribeExecution");
      states.blind = false;
      await holds(runId);
      expect(starts()).toBe(1);
    });

    test("of one that had ended before anybody looked", async () => {
      const runId = await abandoned([], true);
      await ends(runId);
      expect(starts()).toBe(1);
    });
  });

  test("a run that is cancelled stops its execution, and is CANCELLED when that is aborted", async () => {
    const runId = await abandoned([at("states.after-ask")]);
    await world.control.cancel(SOMEBODY, runId, "enough");
    await until("the end of the run", async () => {
      await later(LATE_SECONDS);
      return isTerminalRun((await world.view(runId)).status);
    });
    expect(await world.view(runId)).toMatchObject({ status: "CANCELLED", attention: null });
    expect(states.asked).toContain("StopExecution");
    expect([await executionsOf(runId), (await attemptOf(runId))?.status]).toEqual([1, "CANCELLED"]);
  });
}
