import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow, type Grant, type GrantAnswer, type GrantProvider } from "ghouls";
import { createLedgerGrants } from "@ghouls/engine";
import { openLedger, type Ledger, type NewGrant } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { testWorld } from "../support/world.ts";

const ran: string[] = [];
const seen: Grant[] = [];
const events: string[] = [];
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;

const writes = workflow({
  ...base,
  name: "writes",
  grants: ["reports:write"],
  run: (ctx) =>
    ctx.step("write", () => {
      ran.push("write");
      seen.push(ctx.grant("reports:write"));
      return "written";
    }),
});
const two = workflow({
  ...base,
  name: "two",
  grants: ["a", "b"],
  run: async (ctx) => {
    await ctx.step("one", () => events.push("one"));
    await ctx.sleep("1h");
    return ctx.step("two", () => events.push("two"));
  },
});
let [inStep, outside] = [() => {}, () => {}];
const chain = workflow({
  ...base,
  name: "chain",
  grants: ["short"],
  run: async (ctx) => {
    outside();
    await ctx.step("one", () => {
      ran.push("one");
      inStep();
    });
    await ctx.step("two", () => ran.push("two"));
    return ran.length;
  },
});
const asksForMore = workflow({
  ...base,
  name: "asks-for-more",
  grants: ["a"],
  run: async (ctx) => ctx.grant("b" as "a"),
});

/** Stands in for the ledger's own where a test sets it. */
let acquire: GrantProvider["acquire"] | undefined;
const world = await testWorld({
  workflows: [writes, two, chain, asksForMore],
  grants: {
    acquire: (question, signal) =>
      acquire?.(question, signal) ?? createLedgerGrants(world.ledger).acquire(question, signal),
  },
  settings: { giveBacksBeforeAttention: 2 },
  faults: (point, detail) => {
    if (point === "worker.after-park" || point === "worker.after-settle") events.push(point);
    if (point === "ledger.after-statement" && detail === "deliveries.give-back") events.push(detail);
  },
});
const { db, ledger } = world;
/** Nothing is waited for in earnest: for owners that hang, and never for one that asks the ledger. */
const impatient = { settings: { ...world.deps.settings, ownerDeadlineMs: 50 } };

async function asMigrator<T>(
  act: (grants: Ledger["grants"]) => Promise<T>,
  url = db.migratorUrl,
): Promise<T> {
  const owner = openLedger({ connectionString: url, maxConnections: 1, chance: () => 0 });
  try {
    return await act(owner.grants);
  } finally {
    await owner.close();
  }
}
const newGrant = (change: Partial<NewGrant> = {}): NewGrant => ({
  tenantId: "acme",
  grantId: "g1",
  name: "reports:write",
  holder: "user:ada",
  createdBy: null,
  expiresInMs: null,
  ...change,
});
const create = (change?: Partial<NewGrant>) => asMigrator((grants) => grants.create(newGrant(change)));

beforeEach(async () => {
  await world.reset();
  await db.admin("truncate ghouls.grants");
  await db.admin("update ghouls.test_clock set ahead = '0 seconds'");
  acquire = undefined;
  [inStep, outside] = [() => {}, () => {}];
  for (const list of [ran, seen, events, world.logged]) list.length = 0;
});

async function ended(name = "writes", deps = {}) {
  const { runId } = await world.submit(name);
  await world.drain({ deps });
  return world.view(runId);
}

describe("a grant of the ledger", () => {
  test.each([
    ["the subject of the run", {}],
    ["a role of its admission", { holder: "role:operator" }],
  ])("that names %s is held by each hop", async (_who, change) => {
    await create(change);
    expect(await ended()).toMatchObject({ status: "DONE", output: "written" });
    expect(seen).toEqual([{ value: undefined, expiresAt: undefined }]);
  });

  test.each([
    ["is not there", undefined],
    ["is of another tenant", { tenantId: "umbrella" }],
    ["is another capability", { name: "reports:read" }],
    ["names somebody else", { holder: "user:bob" }],
    ["names a role that the run was not admitted with", { holder: "role:admin" }],
    ["names its role as a user", { holder: "user:operator" }],
  ])("that %s does not count: the run fails by name, and nothing of it has run", async (_why, change) => {
    if (change !== undefined) await create(change);
    expect(await ended()).toMatchObject({
      status: "FAILED",
      error: {
        code: "grant_refused",
        message: expect.stringMatching(
          /^the grant "reports:write" was refused to "user:ada": in tenant "acme" no grant .* names user:ada, role:operator; .* makes one$/,
        ),
      },
    });
    expect(ran).toEqual([]);
    expect(await world.broken()).toEqual([]);
  });

  test("that has expired by the ledger's clock, or was revoked, does not count", async () => {
    await create({ expiresInMs: 60_000 });
    await create({ grantId: "g2" });
    await world.advance(61);
    await asMigrator((grants) => grants.revoke("g2", { actor: "bob", reason: "no more" }));
    expect((await ended()).error?.code).toBe("grant_refused");
  });

  test("of several is the one that lasts longest, and tells its end", async () => {
    await create({ expiresInMs: 60_000 });
    await create({ grantId: "g2", expiresInMs: 600_000, holder: "role:operator" });
    await ended();
    const { expiresAt } = (await ledger.grants.page({}, 10)).find(({ grantId }) => grantId === "g2")!;
    expect(seen).toEqual([{ value: undefined, expiresAt }]);
  });

  test("of an id is one, stays as it was when it is made again, and is revoked once", async () => {
    const first = await create();
    expect(first).toMatchObject({
      createdBy: "database role test_migrator",
      expired: false,
      revokedAt: null,
    });
    expect(await create({ expiresInMs: 1 })).toEqual(first);
    await expect(create({ name: "other" })).rejects.toMatchObject({ code: "idempotency_conflict" });
    const revoke = (reason: string) => asMigrator((grants) => grants.revoke("g1", { actor: "bob", reason }));
    expect(await revoke("one")).toMatchObject({ revoked: true, grant: { revokedBy: "bob" } });
    expect(await revoke("two")).toMatchObject({ revoked: false, grant: { revocationReason: "one" } });
    expect(await asMigrator((grants) => grants.revoke("g9", { actor: null, reason: "x" }))).toBeNull();
  });

  test("is made and revoked by the role that owns the schema alone", async () => {
    const refused = { code: "configuration_invalid", message: "this role may not manage grants" };
    await expect(ledger.grants.create(newGrant())).rejects.toMatchObject(refused);
    await expect(ledger.grants.revoke("g1", { actor: null, reason: "x" })).rejects.toMatchObject(refused);
  });

  test("cannot be had where its table cannot be read: the run goes back", async () => {
    const other = await testDatabase();
    const elsewhere = other.ledger();
    await other.admin("drop table ghouls.grants");
    const provider = createLedgerGrants(elsewhere);
    acquire = (question, signal) => provider.acquire(question, signal);
    expect(await ended()).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
  });
});

describe("a provider", () => {
  const granted = (more: Partial<Extract<GrantAnswer, { outcome: "granted" }>> = {}) =>
    Promise.resolve({ outcome: "granted", ...more } as const);
  const released = (name: string) => () => void events.push(`released ${name}`);

  test("is asked on every hop, and what it gave is given back in reverse order after each end is committed", async () => {
    acquire = ({ name, seq }) => {
      events.push(`acquired ${name} for ${seq}`);
      return granted({ release: released(name) });
    };
    const { runId } = await ended("two");
    const first = [
      "acquired a for 1",
      "acquired b for 1",
      "one",
      "worker.after-park",
      "released b",
      "released a",
    ];
    expect(events).toEqual(first);
    await world.later(3_601);
    expect((await world.view(runId)).status).toBe("DONE");
    const second = [
      "acquired a for 2",
      "acquired b for 2",
      "two",
      "worker.after-settle",
      "released b",
      "released a",
    ];
    expect(events).toEqual([...first, ...second]);
  });

  test("that refuses the second grant gets the first one back, and the run has failed by then", async () => {
    acquire = ({ name }) =>
      name === "a"
        ? granted({ release: released("a") })
        : Promise.resolve({ outcome: "refused", reason: "not today" });
    expect((await ended("two")).error).toMatchObject({
      code: "grant_refused",
      message: 'the grant "b" was refused to "user:ada": not today',
    });
    expect(events).toEqual(["worker.after-settle", "released a"]);
  });

  test.each([
    ["is down", () => Promise.reject(new Error("down"))],
    ["hangs", () => new Promise<never>(() => undefined)],
    ["answers something else", () => Promise.resolve({ outcome: "denied" } as never)],
    ["gives what has expired", () => granted({ expiresAt: new Date(0) })],
  ])("that %s gives the hop back: it goes on later, and no loss is counted", async (_why, trouble) => {
    acquire = ({ name }) => (name === "b" ? trouble() : granted({ release: released("a") }));
    const { runId } = await ended("two", impatient);
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2, attention: null });
    expect(events).toEqual(["deliveries.give-back", "released a"]);
    acquire = () => granted();
    await world.later(31);
    expect((await world.view(runId)).status).toBe("AWAITING_TIMER");
    const [row] = await db.admin("select losses, idle_yields from ghouls.runs where run_id = $1", [runId]);
    expect(row).toEqual({ losses: 0, idle_yields: 0 });
  });

  test("that answers too late gets at once what nobody waited for", async () => {
    const late = Promise.withResolvers<GrantAnswer>();
    acquire = () => late.promise;
    await ended("writes", impatient);
    late.resolve({ outcome: "granted", release: released("late") });
    await expect.poll(() => events).toContain("released late");
    expect(ran).toEqual([]);
  });

  test("whose release throws or hangs is told of, and holds nothing up", async () => {
    acquire = ({ name }) =>
      granted({
        release: name === "a" ? () => Promise.reject(new Error("gone")) : () => new Promise(() => undefined),
      });
    expect(await ended("two", impatient)).toMatchObject({ status: "AWAITING_TIMER" });
    expect(world.logged.filter(({ level }) => level === "warn")).toMatchObject([
      {
        message: "what a hop held was not given back in time; nobody waits for it any more",
        fields: { name: 'the grant "b"' },
      },
      { message: 'the grant "a" could not be given back', fields: { error: "Error" } },
    ]);
  });

  test("whose release fails late is told of as well, and ends no process", async () => {
    const late = Promise.withResolvers<void>();
    acquire = () => granted({ release: () => late.promise });
    await ended("writes", impatient);
    late.reject(new Error("gone"));
    await expect
      .poll(() => world.logged.map(({ message }) => message))
      .toContain('the grant "reports:write" was given back late, and failed');
  });
});

describe("a grant that expires while its hop lasts", () => {
  let ahead = 0;
  const clock = { monotonicMs: () => performance.now() + ahead, wallMs: () => Date.now() };
  const forSeconds = (seconds: number) => ({
    outcome: "granted" as const,
    expiresAt: new Date(Date.now() + seconds * 1_000),
  });
  beforeEach(() => {
    ahead = 0;
  });

  test("lets no step start after it: the next hop takes it anew, and nothing is counted", async () => {
    const taken: number[] = [];
    acquire = ({ seq }) => {
      taken.push(seq);
      return Promise.resolve(forSeconds(taken.length === 1 ? 30 : 3_600));
    };
    inStep = () => {
      ahead = 40_000;
    };
    const { runId } = await world.submit("chain");
    await world.drain({ deps: { clock } });
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: 2 });
    expect([ran, taken]).toEqual([
      ["one", "two"],
      [1, 2],
    ]);
  });

  test("before a single step could start is trouble: the hop is given back, and does not go round in a circle", async () => {
    acquire = () => Promise.resolve(forSeconds(30));
    outside = () => {
      ahead = 40_000;
    };
    const { runId } = await world.submit("chain");
    await world.drain({ deps: { clock } });
    expect(await world.view(runId)).toMatchObject({ status: "QUEUED", enqueueSeq: 2 });
    expect(
      await db.admin("select outcome from ghouls.deliveries where run_id = $1 and seq = 1", [runId]),
    ).toEqual([{ outcome: "given_back" }]);
    expect(ran).toEqual([]);
  });
});

test("a capability that the workflow does not list is refused by name", async () => {
  acquire = () => Promise.resolve({ outcome: "granted" });
  expect((await ended("asks-for-more")).error).toMatchObject({
    code: "workflow_failed",
    message: 'ctx.grant("b"): the workflow lists a; add the name to its grants',
  });
});
