import { expect, test } from "vitest";
import { isTerminalRun, type Principal } from "@ghouls/core";
import { paymentsFolder } from "../../packages/workflows/src/agent/agent.support.ts";
import { payments } from "../../packages/workflows/src/agent/payments.ts";
import { REFUNDS, STEPS, crashAgent } from "../support/crash-agent.ts";
import { LEASE_SECONDS, crashWorld } from "../support/crash-world.ts";
import type { Fault } from "../support/fault-plan.ts";
import { SOMEBODY } from "../support/world.ts";
import { until } from "../support/wait.ts";
import { victims } from "../support/victims.ts";

const world = await crashWorld({ workflows: [crashAgent] });
const folder = await paymentsFolder();
const paid = () => payments({ AGENT_PAYMENTS: folder });
const survivor = await world.start({ payments: folder });

const victim = victims(() => world.start({ payments: folder }));

const DECIDER: Principal = { ...SOMEBODY, subject: "user:bob", roles: ["decider"] };
async function decide(runId: string): Promise<number> {
  const { consents } = await world.consents.list(
    SOMEBODY.tenantId,
    { runId, status: "PENDING" },
    { limit: 50 },
  );
  for (const { consentId, digest } of consents)
    await world.consents.decide(DECIDER, consentId, { verdict: "grant", digest });
  return consents.length;
}

/** Carries a run to its end by one worker after the other, each killed where its fault says. */
async function carried(faults: readonly Fault[]) {
  const { runId } = await world.submit("agent", { goal: "go" });
  const left = [...faults];
  const deaths: string[] = [];
  let worker = survivor;
  await until("its end", async () => {
    if (worker === survivor || !worker.alive()) {
      const fault = left.shift();
      worker = fault === undefined ? survivor : await victim([fault]);
    }
    await world.reconcile();
    for (let moved = true; moved && worker.alive();) {
      const decided = await decide(runId);
      const invocation = await world.step(worker);
      if (invocation?.kind === "ended") deaths.push(invocation.how);
      moved = decided > 0 || invocation !== undefined;
    }
    if (isTerminalRun(await world.statusOf(runId))) return true;
    await world.advance(LEASE_SECONDS);
    return false;
  });
  const journal = await world.db.admin<Record<string, unknown>>(
    `select epoch, kind, name, nth, outcome, case when kind = 'step' then result_text end as result
     from ghouls.journal where run_id = $1 order by ordinal`,
    [runId],
  );
  const { status, output } = await world.view(runId);
  const asked = await world.db.admin<{ n: number }>(
    "select count(*)::integer as n from ghouls.consents where run_id = $1",
    [runId],
  );
  return { deaths, journal, end: { status, output, asked: asked[0]?.n } };
}

test("an agent of 200 steps that is killed nine times says and does what a quiet one does, and pays each time once", async () => {
  const quiet = await carried([]);
  expect(quiet.journal.filter(({ kind }) => kind === "step")).toHaveLength(STEPS);
  expect(quiet.end).toEqual({
    status: "DONE",
    output: { outcome: "ANSWERED", answer: "100 tools were called", modelCalls: 101 },
    asked: REFUNDS,
  });
  const quietly = await paid();
  expect(quietly).toHaveLength(REFUNDS);

  const faults: readonly Fault[] = [
    { point: "worker.after-step", detail: "find_order", nth: 4, action: "kill" },
    { point: "worker.after-intent", detail: "refund", action: "kill" },
    { point: "worker.after-step", detail: "refund", action: "kill" },
    { point: "worker.before-park", action: "kill" },
    { point: "worker.after-park", action: "kill" },
    { point: "worker.after-step", detail: "model call", nth: 3, action: "kill" },
    { point: "worker.after-step", detail: "refund", action: "kill" },
    { point: "worker.after-restart", action: "kill" },
    { point: "worker.before-intent", detail: "refund", action: "kill" },
  ];
  const stormy = await carried(faults);
  expect(stormy.deaths).toEqual(faults.map(() => "SIGKILL"));
  expect(stormy.end).toEqual(quiet.end);
  expect(stormy.journal).toEqual(quiet.journal);
  const made = (await paid()).slice(REFUNDS);
  expect(made.map(({ order, cents }) => [order, cents])).toEqual(
    quietly.map(({ order, cents }) => [order, cents]),
  );
  expect(new Set([...quietly, ...made].map(({ key }) => key)).size).toBe(2 * REFUNDS);
});
