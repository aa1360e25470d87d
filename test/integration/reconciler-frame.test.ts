import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { PassName } from "@ghouls/core";
import type { DueLook, PassPage, Position } from "@ghouls/ledger";
import { runPasses, type FrameOptions } from "../../packages/engine/src/reconciler/frame.ts";
import type { Outcome, Owner, Pass, Turn } from "../../packages/engine/src/reconciler/pass.ts";
import { until } from "../support/wait.ts";
import { testWorld } from "../support/world.ts";

/** The frame over real rows of the ledger, and passes whose owners are the test's. */

const world = await testWorld({ workflows: [] });
const { db, ledger } = world;
beforeEach(() => world.reset());

interface Due extends Owner {
  /** In microseconds of the ledger's clock. */
  readonly micros: number;
}

type Act = (owner: Due, turn: Turn) => Promise<Outcome> | Outcome;

/** A pass whose owners are due for as long as nobody has repaired them. */
class Owners {
  readonly due = new Map<string, Due>();
  readonly turns: string[] = [];
  readonly looks: DueLook[] = [];
  act: Act = () => ({ kind: "repaired" });
  readonly pass: Pass<Due>;

  constructor({
    name = "timers",
    asks = false,
    batch,
  }: { name?: PassName; asks?: boolean; batch?: number } = {}) {
    this.pass = {
      name,
      asks,
      ...(batch === undefined ? {} : { batch }),
      find: async (look) => this.find(look),
      describe: () => ({ rule: "due", before: "waits" }),
      repair: (due, turn) => Promise.all(due.map((one) => this.#repair(one, turn))),
    };
  }

  async add(count: number, ownerOf: (n: number) => string = (n) => `owner-${String(n).padStart(5, "0")}`) {
    const [row] = await db.admin<{ now: string }>(
      "select (extract(epoch from ghouls.clock()) * 1000000)::bigint::text as now",
    );
    const now = Number(row?.now);
    for (let n = 0; n < count; n += 1) {
      const owner = ownerOf(n);
      this.due.set(owner, { tenantId: "acme", runId: null, owner, micros: now - count + n });
    }
  }

  find({ limit, after, until: bound, owners }: DueLook): PassPage<Due> {
    this.looks.push({ limit, after, until: bound, ...(owners === undefined ? {} : { owners }) });
    const behind = (one: Due) =>
      after === undefined ||
      one.micros > Number(after.micros) ||
      (one.micros === Number(after.micros) && one.owner > after.runId);
    const found = [...this.due.values()]
      .filter((one) =>
        owners === undefined
          ? behind(one) && (bound === undefined || one.micros <= bound.getTime() * 1_000)
          : owners.includes(one.owner),
      )
      .toSorted((a, b) => a.micros - b.micros || (a.owner < b.owner ? -1 : 1))
      .slice(0, limit);
    const last = owners === undefined && found.length === limit ? found.at(-1) : undefined;
    const next: Position | undefined = last && { micros: String(last.micros), runId: last.owner };
    return { found, next };
  }

  async #repair(one: Due, turn: Turn): Promise<Outcome> {
    this.turns.push(one.owner);
    const outcome = await this.act(one, turn);
    if (outcome.kind === "repaired") this.due.delete(one.owner);
    return outcome;
  }
}

const FAILED: Outcome = { kind: "failed", reason: "no key" };
const settings = { ownerDeadlineMs: 5_000, asksAtOnce: 20, ownersAtOnce: 4 };

const frame = (passes: readonly (Pass | Owners)[], change: Partial<FrameOptions> = {}) =>
  runPasses(
    passes.map((one) => (one instanceof Owners ? one.pass : one)),
    {
      ...world.deps,
      ledger,
      pageSize: 100,
      pageBudgetMs: 100,
      remainingMs: () => 60_000,
      ...change,
      settings: { ...settings, ...change.settings },
    },
  );
const report = async (owners: Owners, change: Partial<FrameOptions> = {}) =>
  (await frame([owners], change)).get(owners.pass.name);
const standing = async (pass = "timers") =>
  db.admin<{ owner: string; tries: number; page_id: string; in_seconds: number; reason: string }>(
    `select owner, tries, page_id, round(extract(epoch from next_turn_at - ghouls.clock()))::integer as in_seconds, reason
     from ghouls.degraded_owners where pass = $1 order by owner`,
    [pass],
  );
const row = async (pass = "timers") =>
  (
    await db.admin<{
      round: string;
      cursor_owner: string | null;
      round_until: Date | null;
      error: string | null;
    }>(
      "select round, cursor_owner, round_until, error, found, repaired, failed, pages from ghouls.passes where pass = $1",
      [pass],
    )
  )[0];

/** An invocation whose time is over once it has given so many turns. */
const untilTurns = (owners: Owners, count: number) => {
  const before = owners.turns.length;
  return () => (owners.turns.length - before < count ? 60_000 : 0);
};

describe("a cursor", () => {
  test("lets an invocation go on where the last one has ended, and then once over all", async () => {
    const owners = new Owners();
    owners.act = () => ({ kind: "left" });
    await owners.add(500);
    expect(await report(owners, { remainingMs: untilTurns(owners, 200) })).toMatchObject({ found: 200 });
    const { cursor_owner: cursor } = (await row()) ?? {};
    expect(cursor).toBe("owner-00199");
    owners.turns.length = 0;
    expect(await report(owners)).toMatchObject({ left: 800 });
    // From there to the end, and then from the first on.
    expect(owners.turns.slice(0, 300).toSorted()[0]).toBe("owner-00200");
    expect(new Set(owners.turns).size).toBe(500);
    expect(await row()).toMatchObject({ round: "2", cursor_owner: null, round_until: null });
  });

  test("ends its round at what was due when it began: steady arrivals starve nobody", async () => {
    const owners = new Owners();
    owners.act = () => ({ kind: "left" });
    await owners.add(300);
    let arrivals = 0;
    const steady = {
      ...owners.pass,
      find: async (look: DueLook) => {
        await world.advance(1);
        // As many as a page, each time that it looks.
        await owners.add(100, (n) => `late-${(arrivals += 1)}-${n}`);
        return owners.pass.find(look);
      },
    };
    const reports = await frame([steady], { remainingMs: () => (arrivals < 5_000 ? 60_000 : 0) });
    expect(reports.get("timers")?.error).toBeUndefined();
    // It came to its end, and not by its time.
    expect(arrivals).toBeLessThan(2_000);
    expect((await row())?.round_until).toBeNull();
    expect(new Set(owners.turns.filter((owner) => owner.startsWith("owner-"))).size).toBe(300);
  });

  test("of a slower reconciler does not throw a faster one back", async () => {
    const { number } = await ledger.reconciler.beginRound("timers");
    const at = (owner: string) => ({ micros: "1000", runId: owner });
    expect(await ledger.reconciler.advance("timers", number, at("owner-00500"))).toBe(true);
    expect(await ledger.reconciler.advance("timers", number, at("owner-00100"))).toBe(false);
    expect((await row())?.cursor_owner).toBe("owner-00500");
    // Two that begin at the same time have one round.
    expect((await ledger.reconciler.beginRound("timers")).number).toBe(number);
    await ledger.reconciler.endRound("timers", number);
    const next = await ledger.reconciler.beginRound("timers");
    expect(Number(next.number)).toBe(Number(number) + 1);
    expect(await ledger.reconciler.advance("timers", number, at("owner-00900"))).toBe(false);
    await ledger.reconciler.endRound("timers", number);
    expect(await row()).toMatchObject({ cursor_owner: null, round: next.number });
    expect((await row())?.round_until).not.toBeNull();
  });

  test("is advisory: what cannot be read as one, or is lost, costs a look from the start", async () => {
    const owners = new Owners();
    await owners.add(50);
    await db.admin(
      `insert into ghouls.passes (pass, round, round_until, cursor_micros, cursor_owner)
       values ('timers', 7, ghouls.clock(), 99, 'no owner of ours')`,
    );
    const { pass } = owners;
    const strict = {
      ...pass,
      find: (look: DueLook) =>
        look.after?.runId === "no owner of ours" ? Promise.reject(new Error("22P02")) : pass.find(look),
    };
    expect((await frame([strict])).get("timers")).toMatchObject({ error: "Error", repaired: 0 });
    expect(await row()).toMatchObject({ cursor_owner: null, error: "Error" });
    expect((await frame([strict])).get("timers")).toMatchObject({ repaired: 50 });
    expect((await row())?.error).toBeNull();
  });
});

describe("owners that fail", () => {
  test("a thousand before one good: it is served in the first invocation, and they stand aside after it", async () => {
    const owners = new Owners();
    await owners.add(1_001);
    owners.act = ({ owner }) => (owner === "owner-01000" ? { kind: "repaired" } : FAILED);
    expect(await report(owners)).toMatchObject({ found: 1_001, repaired: 1, failed: 1_000, degraded: 1_000 });
    const aside = await standing();
    expect(new Set(aside.map(({ page_id }) => page_id)).size).toBe(10);
    expect(aside[0]).toMatchObject({ tries: 1, in_seconds: 30, reason: "no key" });
    // Forward pages leave them alone.
    expect(await report(owners)).toMatchObject({ found: 0, failed: 0, degraded: 1_000 });
  });

  test("a thousand that hang before one good: it is served within the invocations that they take, a page of places each", async () => {
    const owners = new Owners({ name: "consents", asks: true });
    await owners.add(1_001);
    owners.act = ({ owner }) =>
      owner === "owner-01000" ? { kind: "repaired" } : new Promise<Outcome>(() => undefined);
    const invocation = { settings: { ...settings, ownerDeadlineMs: 20, asksAtOnce: 100 }, pageBudgetMs: 20 };
    let invocations = 0;
    while (owners.due.has("owner-01000") && invocations < 100) {
      const began = performance.now();
      await frame([owners], { ...invocation, remainingMs: () => 100 - (performance.now() - began) });
      invocations += 1;
    }
    // A hundred places: each invocation has so many of them behind it at least.
    expect(invocations).toBeLessThanOrEqual(11);
  }, 60_000);

  test("one that hangs costs its own deadline, and no other's turn", async () => {
    const owners = new Owners();
    await owners.add(40);
    const signals: AbortSignal[] = [];
    const within: number[] = [];
    owners.act = ({ owner }, turn) => {
      if (owner !== "owner-00000") return { kind: "repaired" };
      signals.push(turn.signal);
      within.push(turn.withinMs());
      return new Promise<Outcome>(() => undefined);
    };
    const passing = frame([owners], { settings: { ...settings, ownerDeadlineMs: 300 } });
    await until("the others have had their turns", () => owners.due.size === 1);
    expect(signals[0]?.aborted).toBe(false);
    expect((await passing).get("timers")).toMatchObject({ repaired: 39, failed: 1, degraded: 1 });
    expect(signals[0]?.aborted).toBe(true);
    expect(within[0]).toBeGreaterThan(0);
    expect(within[0]).toBeLessThanOrEqual(300);
    expect(await standing()).toMatchObject([{ owner: "owner-00000", reason: "NoAnswerInTime" }]);
  });

  test("take turns of their own with a growing delay, alone, until their page is clean", async () => {
    const owners = new Owners({ batch: 10 });
    await owners.add(3);
    let broken = new Set(["owner-00000", "owner-00001"]);
    owners.act = ({ owner }) => (broken.has(owner) ? FAILED : { kind: "repaired" });
    expect(await report(owners)).toMatchObject({ repaired: 1, failed: 2, degraded: 2 });
    for (const [tries, seconds] of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].entries()) {
      expect(await standing()).toMatchObject([
        { tries: tries + 1, in_seconds: seconds },
        { tries: tries + 1, in_seconds: seconds },
      ]);
      await world.advance(seconds + 1);
      expect(await report(owners)).toMatchObject({ found: 2, failed: 2, degraded: 2 });
    }
    broken = new Set(["owner-00001"]);
    await world.advance(3_601);
    expect(await report(owners)).toMatchObject({ repaired: 1, failed: 1, degraded: 1 });
    expect(await ledger.reconciler.degradedPages(10)).toMatchObject([{ pass: "timers", owners: 1 }]);
    broken = new Set();
    await world.advance(3_601);
    expect(await report(owners)).toMatchObject({ repaired: 1, degraded: 0 });
    expect(await ledger.reconciler.degradedPages(10)).toEqual([]);
  });

  test("are clean when they are no longer due at their turn", async () => {
    const owners = new Owners();
    await owners.add(2);
    owners.act = () => FAILED;
    await report(owners);
    owners.due.delete("owner-00000");
    await world.advance(31);
    owners.turns.length = 0;
    expect(await report(owners)).toMatchObject({ found: 1, failed: 1, degraded: 1 });
    expect(owners.turns).toEqual(["owner-00001"]);
  });

  test("of a batch that throws fail together, and have their next turns alone", async () => {
    const owners = new Owners({ batch: 100 });
    await owners.add(50);
    owners.act = ({ owner }) =>
      owner === "owner-00007" ? Promise.reject(new Error("poison")) : { kind: "left" };
    expect(await report(owners)).toMatchObject({ failed: 50, degraded: 50 });
    owners.act = ({ owner }) =>
      owner === "owner-00007" ? Promise.reject(new Error("poison")) : { kind: "repaired" };
    await world.advance(31);
    expect(await report(owners)).toMatchObject({ repaired: 49, failed: 1, degraded: 1 });
    expect(await standing()).toMatchObject([{ owner: "owner-00007", tries: 2, reason: "Error" }]);
  });

  test("and have a time of their own stand aside for nobody", async () => {
    const owners = new Owners();
    await owners.add(1);
    owners.act = () => ({ ...FAILED, ownTime: true }) as Outcome;
    expect(await report(owners)).toMatchObject({ failed: 1, degraded: 0 });
  });

  test("take the other half of a pass's time at most", async () => {
    const owners = new Owners({ batch: 1 });
    await owners.add(2_000);
    let remaining = 10_000;
    let bad = true;
    owners.act = ({ owner }) => {
      remaining -= 1;
      return bad && owner < "owner-01000" ? FAILED : { kind: "left" };
    };
    await report(owners);
    await world.advance(31);
    bad = false;
    remaining = 1_200;
    owners.turns.length = 0;
    // A deadline of 100 ms and a budget of 100 ms stay behind: a thousand turns.
    const options = { settings: { ...settings, ownerDeadlineMs: 100 }, remainingMs: () => remaining };
    await report(owners, options);
    const forward = owners.turns.filter((owner) => owner >= "owner-01000").length;
    expect(forward).toBeGreaterThanOrEqual(450);
    expect(owners.turns.length - forward).toBeGreaterThan(100);
  }, 30_000);

  test("of three reconcilers at once count one try", async () => {
    const owners = new Owners();
    await owners.add(10);
    owners.act = () => FAILED;
    await Promise.all([report(owners), report(owners), report(owners)]);
    expect(new Set((await standing()).map(({ tries }) => tries))).toEqual(new Set([1]));
    await world.advance(31);
    owners.turns.length = 0;
    await Promise.all([report(owners), report(owners), report(owners)]);
    expect(new Set((await standing()).map(({ tries }) => tries))).toEqual(new Set([2]));
    expect(owners.turns).toHaveLength(10);
  });
});

describe("shares of an invocation", () => {
  const NAMES: readonly PassName[] = [
    "reanimation",
    "holds",
    "deadlines",
    "timers",
    "consents",
    "containment",
    "relay",
  ];

  test("every pass comes to its turn, though each has an owner that hangs, and it ends inside", async () => {
    const passes = NAMES.map((name) => new Owners({ name, asks: name === "consents" }));
    for (const owners of passes) {
      await owners.add(3, (n) => `${owners.pass.name}-${n}`);
      owners.act = ({ owner }) =>
        owner.endsWith("-0") ? new Promise<Outcome>(() => undefined) : { kind: "repaired" };
    }
    const began = performance.now();
    const remainingMs = () => 2_000 - (performance.now() - began);
    const reports = await frame(passes, { settings: { ...settings, ownerDeadlineMs: 700 }, remainingMs });
    expect(remainingMs()).toBeGreaterThan(0);
    for (const name of NAMES) expect(reports.get(name), name).toMatchObject({ repaired: 2, failed: 1 });
  });

  test("what one pass leaves goes to those after it", async () => {
    let remaining = 2_200;
    const [first, last] = [new Owners({ name: "timers" }), new Owners({ name: "relay" })];
    await last.add(2_500);
    last.act = () => {
      remaining -= 1;
      return { kind: "left" };
    };
    const options = { settings: { ...settings, ownerDeadlineMs: 100 }, remainingMs: () => remaining };
    expect((await frame([first, last], options)).get("relay")?.left).toBeGreaterThan(1_900);
  });

  test("no pass begins that could not end inside the invocation, and its owners wait for the next", async () => {
    const owners = new Owners();
    await owners.add(1);
    expect(await report(owners, { remainingMs: () => 50 })).toMatchObject({ pages: 0, found: 0 });
    expect(await report(owners)).toMatchObject({ repaired: 1 });
  });

  test("a pass that fails keeps its error, and lets the others go on", async () => {
    const owners = new Owners({ name: "relay" });
    await owners.add(1);
    const broken: Pass = {
      ...new Owners().pass,
      find: () => Promise.reject(new TypeError("no such column")),
    };
    const hung: Pass = { ...new Owners({ name: "holds" }).pass, find: () => new Promise(() => undefined) };
    const reports = await frame([hung, broken, owners], { settings: { ...settings, ownerDeadlineMs: 50 } });
    expect(reports.get("relay")).toMatchObject({ repaired: 1 });
    expect((await row())?.error).toBe("TypeError");
    expect((await row("holds"))?.error).toBe("NoAnswerInTime");
  });

  test("of an owner of which its pass says nothing it is a failure", async () => {
    const owners = new Owners();
    await owners.add(1);
    const silent: Pass = { ...owners.pass, repair: () => Promise.resolve([]) };
    expect((await frame([silent])).get("timers")).toMatchObject({ failed: 1 });
  });
});

describe("rows that cannot be", () => {
  test("read cost a look from the start", async () => {
    const owners = new Owners();
    await owners.add(3);
    const blind = { reconciler: { ...ledger.reconciler, passes: () => Promise.reject(new Error("cut")) } };
    expect(await report(owners, { ledger: blind })).toMatchObject({ repaired: 3 });
    expect(world.logged.some(({ message }) => message.includes("rows could not be read"))).toBe(true);
  });

  test("written do not undo what was done", async () => {
    const owners = new Owners();
    await owners.add(3);
    const mute = { reconciler: { ...ledger.reconciler, note: () => Promise.reject(new Error("cut")) } };
    expect(await report(owners, { ledger: mute })).toMatchObject({ repaired: 3 });
    expect(world.logged.some(({ message }) => message.includes("could not be written"))).toBe(true);
  });

  test("written of owners that failed are an error of their pass, whose round is looked over again", async () => {
    const owners = new Owners();
    await owners.add(1);
    owners.act = () => FAILED;
    const mute = { reconciler: { ...ledger.reconciler, degrade: () => Promise.reject(new Error("cut")) } };
    expect(await report(owners, { ledger: mute })).toMatchObject({ failed: 1, error: "Error" });
    expect(await report(owners)).toMatchObject({ failed: 1, degraded: 1 });
  });

  test("ended of a round are told beside what interrupted it", async () => {
    await ledger.reconciler.beginRound("timers");
    const broken: Pass = { ...new Owners().pass, find: () => Promise.reject(new Error("cut")) };
    const mute = { reconciler: { ...ledger.reconciler, endRound: () => Promise.reject(new Error("away")) } };
    expect((await frame([broken], { ledger: mute })).get("timers")).toMatchObject({ error: "Error" });
    expect(world.logged.some(({ fields }) => fields["error"] === "Error")).toBe(true);
  });
});

test("a ledger that does not answer keeps no invocation beyond its end", async () => {
  const owners = new Owners();
  await owners.add(2);
  owners.act = () => FAILED;
  const never = () => new Promise<never>(() => undefined);
  const deaf = { reconciler: { ...ledger.reconciler, passes: never, degrade: never, note: never } };
  const began = performance.now();
  const remainingMs = () => 1_000 - (performance.now() - began);
  const options = { settings: { ...settings, ownerDeadlineMs: 100 }, remainingMs, ledger: deaf };
  expect(await report(owners, options)).toMatchObject({ failed: 2, degraded: 0 });
  expect(remainingMs()).toBeGreaterThan(0);
  const said = world.logged.map(({ message }) => message);
  expect(said).toContain("what came of some owners could not be written in time; they are looked at again");
  // Nothing was written, so that they are in front again.
  expect(await report(owners)).toMatchObject({ found: 2, degraded: 2 });
});

test("an owner that stands aside is part of the next look, at its own turn", async () => {
  expect(await ledger.nextLook()).toBeNull();
  await ledger.reconciler.degrade("timers", randomUUID(), [
    { owner: "a", tenantId: "acme", runId: null, reason: "nul \0 and \ud800" },
  ]);
  expect(Math.round((await ledger.nextLook()) ?? 0)).toBe(30);
  expect(await standing()).toMatchObject([{ reason: "nul \ufffd and \ufffd" }]);
  expect(await ledger.reconciler.makeDue(["timers"])).toBe(1);
  expect(await ledger.nextLook()).toBeLessThanOrEqual(0);
});
