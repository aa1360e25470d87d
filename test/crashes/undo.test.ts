import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { balances } from "../../packages/workflows/src/payout/bank.ts";
import { OVER_SECONDS, crashWorld } from "../support/crash-world.ts";
import type { Fault, Passing } from "../support/fault-plan.ts";
import { killsOn, victims } from "../support/victims.ts";
import { SOMEBODY } from "../support/world.ts";

const bank = await mkdtemp(join(tmpdir(), "ghouls-bank-"));
afterAll(() => rm(bank, { recursive: true }));
const world = await crashWorld();
const survivor = await world.start({ bank });
const victim = victims(() => world.start({ bank }));
const book = () => balances({ PAYOUT_BANK: bank });

/** Two payments, and a limit below them: paid, then taken back. */
const BATCH = {
  payments: [
    { to: "Ada", cents: 1 },
    { to: "Bo", cents: 2 },
  ],
  limitCents: 2,
};
const HUNDRED = { payments: Array.from({ length: 100 }, (_, at) => ({ to: `payee ${at}`, cents: 1 + at })) };
const HOPS = ["pays", "undoes"] as const;

async function wayOf(): Promise<readonly (readonly Passing[])[]> {
  const worker = await victim();
  await world.submit("payout", BATCH);
  const ways: Passing[][] = [];
  for (const _ of HOPS) {
    await world.reconcile();
    await worker.faults([]);
    await world.step(worker);
    ways.push([...(await worker.inspect()).passings]);
  }
  worker.signal("SIGKILL");
  return ways;
}

const cases = (await wayOf()).flatMap((way, hop) => {
  // How a hop goes on, whatever its steps are, is killed at every point elsewhere.
  const own = way.filter(({ point, detail }) => hop === 1 || /undo|intent|settle/.test(`${point} ${detail}`));
  return killsOn(own).map(([label, fault]) => [HOPS[hop] as string, label, hop, fault] as const);
});

test("the way of a batch that is undone passes every point of it", () => {
  const points = new Set(cases.map(([, , , { point, detail }]) => detail ?? point));
  for (const point of ["undos.start", "items.acknowledge", "deliveries.settle-contain", "undos.of-run"])
    expect([...points], point).toContain(point);
  const own = new Set(cases.map(([, , , { point }]) => point));
  for (const point of ["worker.before-undo", "worker.after-undo"] as const) expect(own).toContain(point);
});

describe("kill -9 of a worker", () => {
  test.each(cases)(
    "that %s, at %s: nothing is paid twice, and FAILED means taken back",
    async (_, __, hop, fault) => {
      const before = new Set((await book()).keys());
      const { runId } = await world.submit("payout", BATCH);
      for (let at = 0; at <= hop; at += 1) {
        await world.reconcile();
        const worker = at === hop ? await victim([fault]) : survivor;
        const end = await world.step(worker);
        if (at === hop) expect(end).toEqual({ kind: "ended", how: "SIGKILL" });
      }
      await world.heal([runId], survivor);
      await world.audit({ [runId]: "FAILED" });
      const own = [...(await book())].filter(([key]) => !before.has(key)).map(([, sum]) => sum);
      expect(own.length).toBeLessThanOrEqual(2);
      for (const sum of own) expect(sum).toEqual({ cents: 0, times: 1 });
    },
  );
});

describe("a hundred payments at a bank that lies", () => {
  const lying = victims(() => world.start({ bank, bankLies: true }));
  /** From where a worker is killed, one after the other; what is said between is what happens then. */
  const KILLS: readonly Fault[] = [3, 20, 5, 40, 11, 2, 30, 8, 17, 1].map((nth, at) => ({
    point: at % 2 === 0 ? "worker.after-step" : "worker.after-intent",
    nth,
    action: "kill",
  }));

  async function truth(runId: string, before: ReadonlySet<string>, cancelAfter: number) {
    for (const [at, fault] of KILLS.entries()) {
      const worker = await lying([fault]);
      await world.reconcile();
      while (worker.alive() && (await world.step(worker)) !== undefined);
      if (at === cancelAfter) await world.control.cancel(SOMEBODY, runId, "no longer wanted");
      await world.advance(OVER_SECONDS);
      worker.signal("SIGKILL");
    }
    const last = await world.start({ bank, bankLies: true });
    await world.heal([runId], last);
    last.signal("SIGKILL");
    const own = [...(await book())].filter(([key]) => !before.has(key)).map(([, sum]) => sum);
    // Whatever it has told, nothing was asked for twice.
    expect(own.every(({ times }) => times === 1)).toBe(true);
    return own;
  }

  test.each([
    ["whose batch is cancelled after the first kill", 0, "CANCELLED"],
    ["whose batch is not cancelled", KILLS.length, "FAILED"],
  ] as const)("%s: what is said at the end is true", async (_, cancelAfter, status) => {
    const before = new Set((await book()).keys());
    const { runId } = await world.submit("payout", HUNDRED);
    const own = await truth(runId, before, cancelAfter);
    await world.audit({ [runId]: status });
    expect(own.every(({ cents }) => cents === 0)).toBe(true);
  });
});
