import { describe, expect, it } from "vitest";
import type { RepinAnswer } from "@ghouls/ledger";
import { ADMITTED, api, folder, ghouls, RUN_ID, VIEW, NO_RELEASES } from "../fakes.support.ts";
import type { LedgerTools } from "../io.ts";

const NEW_ID = "7c1d4c39-9c53-4a4b-8e1f-2d3c0b0c7e9e";
const PARKED = { ...VIEW, status: "AWAITING_SIGNAL", finishedAt: null, output: null, agent: "ada" };

/** A folder beside which a `ghouls dev` runs, whose code has these digests. */
async function beside(workflows: Record<string, string>, table: Record<string, unknown>, over: object = {}) {
  const server = await api({ [`GET /v1/runs/${RUN_ID}`]: PARKED, ...table });
  const dev = {
    apiUrl: server.url,
    databaseUrl: "postgres://app@127.0.0.1/x",
    migrationUrl: "postgres://owner@127.0.0.1/x",
    databaseSchema: "crypt",
    tokens: { operator: "the operator's" },
    code: { workflows },
    ...over,
  };
  const cwd = await folder({ ".ghouls/dev.json": JSON.stringify(dev) });
  return { asked: server.asked, cwd };
}

/** A ledger that answers once, and keeps what it was asked. */
function ledgerWith(answer: Partial<RepinAnswer> | null) {
  const calls: unknown[] = [];
  const never = () => {
    throw new Error("this test did not expect it");
  };
  const ledger: LedgerTools = {
    migrate: never,
    migrationSql: never,
    openStores: never,
    openLedger: (options) => {
      calls.push(options);
      return {
        doctor: never,
        evidence: { verify: never },
        integrity: { judge: never, acknowledge: never },
        releases: NO_RELEASES,
        runs: {
          repinIfUnclaimed: (...question) => {
            calls.push(question);
            const found = {
              repinned: false,
              status: "AWAITING_SIGNAL",
              digest: "d1",
              quarantined: false,
            } as const;
            return Promise.resolve(answer === null ? null : { ...found, ...answer });
          },
        },
        close: () => Promise.resolve(void calls.push("closed")),
      };
    },
  };
  return { ledger, calls };
}

describe("dev replay", () => {
  it("pins the run to the digest that runs, as the owner of the schema, and says so", async () => {
    const { asked, cwd } = await beside({ "hello@1": "d2" }, {});
    const { ledger, calls } = ledgerWith({ repinned: true, digest: "d2" });
    expect(await ghouls(["dev", "replay", RUN_ID], { cwd, ledger })).toEqual({
      code: 0,
      out: "pinned to d2\n",
      err: "",
    });
    expect(asked.map(({ token }) => token)).toEqual(["Bearer the operator's"]);
    expect(calls).toEqual([
      { connectionString: "postgres://owner@127.0.0.1/x", schema: "crypt", maxConnections: 1 },
      [
        { tenantId: "default", runId: RUN_ID },
        { from: "d1", to: "d2" },
        { actor: "ghouls dev replay", reason: "its code has changed" },
      ],
      "closed",
    ]);
    const again = ledgerWith({ digest: "d2" });
    const args = ["dev", "replay", RUN_ID, "--reason", "mended"];
    expect((await ghouls(args, { cwd, ledger: again.ledger })).out).toBe("pinned to d2 before\n");
    expect(again.calls[1]).toMatchObject([{}, {}, { reason: "mended" }]);
    const json = await ghouls([...args, "--json"], {
      cwd,
      ledger: ledgerWith({ repinned: true, digest: "d2" }).ledger,
    });
    expect(JSON.parse(json.out)).toMatchObject({ runId: RUN_ID, repinned: true, digest: "d2" });
  });

  it.each<[string, Partial<RepinAnswer> | null, string]>([
    ["a worker has", { status: "RUNNING" }, "the run is RUNNING"],
    ["has ended", { status: "FAILED" }, "the run is FAILED"],
    ["is quarantined", { quarantined: true }, "Fix: `ghouls clear"],
    ["is in another database", null, "that database has no such run"],
  ])("refuses a run that %s", async (_, answer, words) => {
    const { cwd } = await beside({ "hello@1": "d2" }, {});
    const { ledger, calls } = ledgerWith(answer);
    const outcome = await ghouls(["dev", "replay", RUN_ID], { cwd, ledger });
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain(words);
    expect(calls.at(-1)).toBe("closed");
  });

  it("of a version that is not there any more leaves restart and discard", async () => {
    const { cwd } = await beside({ "hello@2": "d2" }, {});
    const outcome = await ghouls(["dev", "replay", RUN_ID], { cwd });
    expect(outcome.err).toContain('the code of now has no workflow "hello" version 1');
    expect(outcome.err).toContain("ghouls dev restart");
  });

  it("of a database of one's own takes the migrator's variable, and names it where it is not set", async () => {
    const { cwd } = await beside({ "hello@1": "d2" }, {}, { migrationUrl: undefined });
    expect((await ghouls(["dev", "replay", RUN_ID], { cwd })).err).toContain(
      "Set GHOULS_MIGRATION_DATABASE_URL",
    );
    const { ledger, calls } = ledgerWith({ repinned: true, digest: "d2" });
    const env = { GHOULS_MIGRATION_DATABASE_URL: "postgres://mine@127.0.0.1/x" };
    expect(await ghouls(["dev", "replay", RUN_ID], { cwd, ledger, env })).toMatchObject({ code: 0 });
    expect(calls[0]).toMatchObject({ connectionString: env.GHOULS_MIGRATION_DATABASE_URL });
  });
});

describe("dev restart", () => {
  const table = {
    "POST /v1/runs": { ...ADMITTED, runId: NEW_ID, status: "QUEUED" },
    [`POST /v1/runs/${RUN_ID}/cancel`]: { runId: RUN_ID, cancelled: true, status: "CANCELLED" },
  };

  it("asks for the same anew under a key of its own, then cancels, and prints the new id", async () => {
    const { asked, cwd } = await beside({ "hello@1": "d2" }, table);
    expect(await ghouls(["dev", "restart", RUN_ID], { cwd })).toEqual({
      code: 0,
      out: `${NEW_ID}\n`,
      err: `${RUN_ID} is CANCELLED\n`,
    });
    const request = {
      workflow: "hello",
      version: 1,
      input: VIEW.input,
      queue: "runs",
      priority: 5,
      agent: "ada",
    };
    expect(asked.slice(1)).toMatchObject([
      { line: "POST /v1/runs", key: `restart-${RUN_ID}`, body: request },
      { body: { reason: `its code has changed; asked for anew as ${NEW_ID}` } },
    ]);
    const json = await ghouls(["dev", "restart", RUN_ID, "--json"], { cwd });
    expect(JSON.parse(json.out)).toMatchObject({
      admitted: { runId: NEW_ID },
      cancelled: { cancelled: true },
    });
  });

  it("takes the newest version where the run's is gone", async () => {
    const gone = await beside(
      { "hello@2": "d2" },
      { ...table, [`GET /v1/runs/${RUN_ID}`]: { ...PARKED, agent: null } },
    );
    await ghouls(["dev", "restart", RUN_ID], { cwd: gone.cwd });
    expect(gone.asked[1]?.body).toEqual({ workflow: "hello", input: VIEW.input, queue: "runs", priority: 5 });
  });

  it("does not cancel where the input is not taken any more, and asks for nothing where the run has ended", async () => {
    const refused = {
      type: "urn:ghouls:problem:input_invalid",
      title: "Invalid",
      status: 422,
      detail: "no",
      requestId: "r",
    };
    const unfit = await beside({ "hello@1": "d2" }, { ...table, "POST /v1/runs": refused });
    expect(await ghouls(["dev", "restart", RUN_ID], { cwd: unfit.cwd })).toMatchObject({ code: 1, out: "" });
    expect(unfit.asked).toHaveLength(2);
    const ended = await beside({ "hello@1": "d2" }, { ...table, [`GET /v1/runs/${RUN_ID}`]: VIEW });
    const outcome = await ghouls(["dev", "restart", RUN_ID], { cwd: ended.cwd });
    expect(outcome.err).toContain("the run is DONE");
    expect(ended.asked).toHaveLength(1);
  });
});

describe("dev discard", () => {
  it("cancels, and says what was decided before", async () => {
    const done = { runId: RUN_ID, cancelled: false, status: "DONE" };
    const answers = [{ ...done, cancelled: true, status: "CANCELLED" }, done];
    const { asked, cwd } = await beside({}, { [`POST /v1/runs/${RUN_ID}/cancel`]: answers });
    expect(await ghouls(["dev", "discard", RUN_ID], { cwd })).toMatchObject({ code: 0, out: "CANCELLED\n" });
    expect(asked.map(({ body }) => body)).toEqual([{ reason: "its code has changed" }]);
    expect(await ghouls(["dev", "discard", RUN_ID], { cwd })).toMatchObject({
      code: 1,
      out: "decided before: DONE\n",
    });
    expect(JSON.parse((await ghouls(["dev", "discard", RUN_ID, "--json"], { cwd })).out)).toEqual(done);
  });
});

it.each(["replay", "restart", "discard"])(
  "dev %s goes nowhere but beside a `ghouls dev` that runs",
  async (name) => {
    const env = {
      GHOULS_API_URL: "http://127.0.0.1:1",
      GHOULS_TOKEN: "t",
      GHOULS_MIGRATION_DATABASE_URL: "postgres://x",
    };
    const outcome = await ghouls(["dev", name, RUN_ID, "--data-dir", "elsewhere", "--json"], { env });
    expect(outcome.code).toBe(1);
    expect(JSON.parse(outcome.err)).toMatchObject({
      error: { message: "no `ghouls dev` runs in elsewhere" },
    });
  },
);
