import { expect, test } from "vitest";
import { crashWorld } from "../support/crash-world.ts";
import type { Fault } from "../support/fault-plan.ts";
import { victims } from "../support/victims.ts";

const world = await crashWorld();
const { stub, db } = world;
const survivor = await world.start();

const victim = victims(() => world.start());

const POINTS: readonly (readonly [Fault["point"], string])[] = [
  ["worker.before-reserve", "gpu"],
  ["ledger.before-statement", "reservations.take"],
  ["ledger.after-statement", "reservations.take"],
  ["ledger.before-commit", "reservations.take"],
  ["ledger.after-commit", "reservations.take"],
  ["worker.after-reserve", "gpu"],
  ["worker.after-step", "on"],
  ["worker.before-release", "gpu"],
  ["ledger.before-statement", "reservations.release"],
  ["ledger.after-statement", "reservations.release"],
  ["worker.after-release", "gpu"],
];

/** From when to when each claim could act with the one unit: until it was given back, or the lost claim was over. */
const uses = () =>
  db.admin<{ run_id: string; from: Date; until: Date | null }>(
    `select x.run_id, x.held_at as from,
       case when x.left_at is null then x.released_at else coalesce(item.acknowledged_at,
         case when item.run_id is null then x.left_at end) end as until
     from ghouls.reservations x
     left join ghouls.containment_items item on item.tenant_id = x.tenant_id and item.run_id = x.run_id
       and item.kind = 'worker' and item.key = x.seq::text
     where x.held_at is not null order by x.held_at`,
  );

test.each(POINTS)(
  "a worker that is killed at %s %s loses no unit and doubles none: both runs that need it finish",
  async (point, detail) => {
    await db.admin("truncate ghouls.runs, ghouls.child_ends cascade");
    const killed = await victim([{ point, detail, action: "kill" }]);
    const { runId } = await world.submit("shares");
    const messages = await world.receive();
    expect(await killed.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    await world.lapse(messages);
    const other = await world.submit("shares");
    await world.heal([runId, other.runId], survivor);
    await world.audit({ [runId]: "DONE", [other.runId]: "DONE" });
    const found = await uses();
    for (const [at, use] of found.entries()) {
      expect(use.until).not.toBeNull();
      const before = found[at - 1];
      if (before !== undefined)
        expect(use.from.getTime()).toBeGreaterThanOrEqual(before.until?.getTime() ?? Infinity);
    }
    expect(await db.admin("select from ghouls.units_in_use")).toEqual([]);
    for (const one of [runId, other.runId]) {
      expect((await world.journalOf(one)).filter((name) => name === "on" || name === "off")).toEqual([
        "on",
        "off",
      ]);
      expect(new Set(stub.calls(one).map(({ step }) => step))).toEqual(new Set(["on", "off"]));
    }
  },
);
