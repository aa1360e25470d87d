import { describe, expect, it } from "vitest";
import { api, AT, ghouls, RUN_ID } from "../fakes.support.ts";

const NOTHING = {
  found: 0,
  repaired: 0,
  left: 0,
  failed: 0,
  degraded: 0,
  error: null,
  findings: [],
  more: false,
};
const TIMERS = { ...NOTHING, pass: "timers", did: "ran", found: 2, repaired: 1, failed: 0, left: 1 };
const CONSENTS = { ...NOTHING, pass: "consents", did: "later" };
const PATH = "POST /v1/reconciler/passes";

describe("reconcile", () => {
  it("runs the passes that are named, and tells what each did and which are left to the reconciler", async () => {
    const server = await api({ [PATH]: { dryRun: false, passes: [TIMERS, CONSENTS] } });
    const outcome = await ghouls(["reconcile", "--pass", "timers", "consents"], { env: server.env });
    expect(outcome).toEqual({
      code: 0,
      out:
        "PASS      FOUND  REPAIRED  LEFT  FAILED  DEGRADED\n" +
        "timers    2      1         1     0       0\n" +
        "consents  later\n",
      err: "Taken by the reconciler's next invocation, because they ask somebody else: consents\n",
    });
    expect(server.asked.map(({ body }) => body)).toEqual([{ passes: ["timers", "consents"] }]);
  });

  it.each([
    ["an owner failed", { ...TIMERS, failed: 1 }, ""],
    ["a pass failed", { ...TIMERS, error: "Error: cut\u001b[2J" }, "timers: Error: cut\\u001b[2J\n"],
  ])("is a failure where %s", async (_what, pass, err) => {
    const server = await api({ [PATH]: { dryRun: false, passes: [pass] } });
    expect(await ghouls(["reconcile"], { env: server.env })).toMatchObject({ code: 1, err });
    const json = await ghouls(["reconcile", "--json"], { env: server.env });
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { passes: [pass] }]);
  });

  it("says which passes there was no time for", async () => {
    const server = await api({ [PATH]: { dryRun: false, passes: [{ ...TIMERS, more: true }] } });
    expect((await ghouls(["reconcile"], { env: server.env })).err).toBe("There was no time for: timers\n");
  });

  it("with --dry-run says a line for each owner, and what a page did not show", async () => {
    const finding = {
      tenantId: "t1",
      runId: RUN_ID,
      owner: RUN_ID,
      rule: "its time is over",
      before: "AWAITING_TIMER",
    };
    const seal = { tenantId: "t1", runId: null, owner: "t1", rule: "unsealed", before: "3 records" };
    const passes = [
      { ...TIMERS, did: "looked", findings: [finding], more: true },
      { ...NOTHING, pass: "seals", did: "looked", findings: [seal] },
    ];
    const server = await api({ [PATH]: { dryRun: true, passes } });
    expect(await ghouls(["reconcile", "--dry-run"], { env: server.env })).toEqual({
      code: 0,
      out:
        `PASS    RULE              RUN${" ".repeat(35)}BEFORE\n` +
        `timers  its time is over  ${RUN_ID}  AWAITING_TIMER\n` +
        `seals   unsealed          t1${" ".repeat(36)}3 records\n`,
      err: "There is more of: timers\n",
    });
    expect(server.asked.map(({ body }) => body)).toEqual([{ dryRun: true }]);
  });

  it("with --dry-run says that nothing is due", async () => {
    const passes = [{ ...NOTHING, pass: "timers", did: "looked" }];
    const server = await api({ [PATH]: { dryRun: true, passes } });
    const outcome = await ghouls(["reconcile", "--dry-run"], { env: server.env });
    expect(outcome).toEqual({ code: 0, out: "PASS  RULE  RUN  BEFORE\n", err: "Nothing is due.\n" });
    const failed = await api({ [PATH]: { dryRun: true, passes: [{ ...passes[0], error: "Error: cut" }] } });
    expect((await ghouls(["reconcile", "--dry-run"], { env: failed.env })).err).toBe("timers: Error: cut\n");
  });

  it("does not know a pass that there is none of", async () => {
    const outcome = await ghouls(["reconcile", "--pass", "sweeping"]);
    expect(outcome.code).toBe(2);
    expect(outcome.err).toContain("Allowed choices are reanimation, holds");
  });
});

describe("reconcile --status", () => {
  const pass = {
    pass: "timers",
    round: 3,
    roundUntil: null,
    cursor: null,
    reconciler: "w",
    startedAt: AT,
    endedAt: AT,
    pages: 1,
    found: 2,
    repaired: 1,
    failed: 1,
    error: null,
  };
  const aside = { pass: "timers", pageId: "0123456789", degradedAt: AT, tries: 2, nextTurnAt: AT };
  const state = {
    passes: [pass, { ...pass, pass: "seals", endedAt: null, cursor: "t1", error: "Error: cut" }],
    degradedPages: [{ ...aside, owners: 2 }],
    degradedOwners: [
      { ...aside, owner: "a1", tenantId: "t1", runId: RUN_ID, reason: "no answer" },
      { ...aside, pass: "seals", owner: "t1", tenantId: "t1", runId: null, reason: "no key" },
    ],
    nextDegradedCursor: null,
    repairs: [
      {
        repairId: "x",
        tenantId: "t1",
        runId: RUN_ID,
        pass: "timers",
        rule: "resume",
        before: "A",
        after: "B",
        at: AT,
      },
    ],
    nextCursor: null,
  };

  it("shows how far the passes are, what stands aside, and the newest repairs", async () => {
    const server = await api({ "GET /v1/reconciler": state });
    const outcome = await ghouls(["reconcile", "--status"], { env: server.env });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    const lines = outcome.out.split("\n");
    expect(lines[1]).toBe(`timers  3              ${AT}  2      1         1`);
    expect(lines[2]).toBe(
      `seals   3      t1      never                     2      1         1       Error: cut`,
    );
    expect(lines[5]).toBe(`timers  ${RUN_ID}  01234567  ${AT}  2      ${AT}  no answer`);
    expect(lines[6]).toContain("seals   t1 ");
    expect(lines[9]).toBe(`${AT}  timers  ${RUN_ID}  resume  A       B`);
    const json = await ghouls(["reconcile", "--status", "--json"], { env: server.env });
    expect(JSON.parse(json.out)).toEqual(state);
  });

  it.each([[["--dry-run"]], [["--pass", "timers"]]])("takes nothing beside it: %j", async (flags) => {
    const outcome = await ghouls(["reconcile", "--status", ...flags]);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain("Leave --dry-run and --pass out.");
  });

  it("shows no more than there is", async () => {
    const empty = { ...state, degradedPages: [], degradedOwners: [], repairs: [], passes: [] };
    const server = await api({ "GET /v1/reconciler": empty });
    const outcome = await ghouls(["reconcile", "--status"], { env: server.env });
    expect(outcome.out).toBe("PASS  ROUND  CURSOR  LAST  FOUND  REPAIRED  FAILED  ERROR\n");
  });
});
