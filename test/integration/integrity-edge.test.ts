import { beforeEach, describe, expect, test } from "vitest";
import type { Principal, wire } from "@ghouls/core";
import { createFetch, defineConfig } from "ghouls";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { makeKey } from "../support/keys.ts";

/** Faults over HTTP, by real keys; and what /readyz makes of them. */

const db = await testDatabase();
const ledger = db.ledger();
const lines: string[] = [];
let failing: readonly string[] = [];
const answered: string[] = [];
const fetchApi = createFetch(defineConfig({ workflows: [] }), {
  variables: { DATABASE_URL: db.applicationUrl },
  write: (line: string) => void lines.push(line),
  faults: (point: string, detail: string) => {
    if (point === "ledger.before-statement" && failing.includes(detail)) throw new Error("canary");
    if (point === "ledger.after-statement") answered.push(detail);
  },
});
const of = (change: Partial<Principal>): Principal => ({
  tenantId: "acme",
  subject: "user:ada",
  roles: ["operator"],
  ...change,
});
const [operator, viewer, foreign, deployer] = [
  (await makeKey(db, of({}))).text,
  (await makeKey(db, of({ subject: "user:vic", roles: ["viewer"] }))).text,
  (await makeKey(db, of({ tenantId: "umbrella" }))).text,
  (await makeKey(db, of({ subject: "user:dee", permissions: ["deployment:integrity"] }))).text,
];

async function ask<T>(method: string, path: string, token: string | null, body?: object) {
  const answer = await fetchApi(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: answer.status, body: (await answer.json()) as T };
}
const list = async (token: string, query = "") =>
  (await ask<wire.FaultPage>("GET", `/v1/integrity${query}`, token)).body;
const acknowledge = (token: string, faultId: string) =>
  ask<wire.FaultAcknowledged & wire.Problem>("POST", `/v1/integrity/${faultId}/acknowledgement`, token, {
    reason: "known",
  });
const judge = (carried?: []) => ledger.integrity.judge({ by: "preflight", carried });
const damaged = async (tenantId: string) => {
  const run = await makeRun(db, { tenantId });
  await db.admin("update ghouls.runs set journal_length = 2 where run_id = $1", [run.runId]);
  return run;
};
const readyz = async () =>
  ask<{ ready: boolean; checks: { name: string; ok: boolean; detail: string }[] }>("GET", "/readyz", null);

beforeEach(async () => {
  failing = [];
  await db.admin("truncate ghouls.runs, ghouls.integrity_faults cascade");
});

describe("a tenant's faults", () => {
  test("are seen by whoever reads its runs, with what became of the run, and by nobody else", async () => {
    const run = await damaged("acme");
    await judge();
    const { faults } = await list(viewer);
    expect(faults).toEqual([
      {
        faultId: expect.any(String),
        check: "journals are as long as their runs say",
        tenantId: "acme",
        runId: run.runId,
        subject: run.runId,
        detail: '{"status": "QUEUED", "entries": 0, "journal_length": 2}',
        open: true,
        foundAt: expect.any(String),
        foundBy: "preflight",
        seenAt: expect.any(String),
        goneAt: null,
        quarantine: "made",
        acknowledged: null,
      },
    ]);
    expect((await list(foreign)).faults).toEqual([]);
  });

  test("are acknowledged by an operator of it; twice answers who was first", async () => {
    await damaged("acme");
    await judge();
    const faultId = (await list(operator)).faults[0]?.faultId ?? "";
    expect((await acknowledge(viewer, faultId)).status).toBe(403);
    const first = await acknowledge(operator, faultId);
    expect(first).toMatchObject({
      status: 200,
      body: { acknowledged: true, fault: { open: false, acknowledged: { by: "user:ada", reason: "known" } } },
    });
    expect(await acknowledge(deployer, faultId)).toMatchObject({
      status: 200,
      body: { acknowledged: false, fault: { acknowledged: { by: "user:ada" } } },
    });
    expect((await list(operator, "?open=true")).faults).toEqual([]);
    expect((await list(operator)).faults).toHaveLength(1);
  });

  test("that are absent, foreign or no id at all are the same 404", async () => {
    await damaged("umbrella");
    await damaged("acme");
    await db.admin("update ghouls.runs set workflow_digest = 'old' where tenant_id = 'acme'");
    await judge([]);
    const rows = await db.admin<{ fault_id: string; tenant_id: string | null }>(
      "select fault_id, tenant_id from ghouls.integrity_faults",
    );
    const hidden = rows.filter((row) => row.tenant_id !== "acme").map((row) => row.fault_id);
    expect(hidden.length).toBeGreaterThanOrEqual(2);
    const answers = await Promise.all(
      [...hidden, crypto.randomUUID(), "none", "%00"].map((id) => acknowledge(operator, id)),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.detail} ${body.fix}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(404);
    expect(await db.admin("select from ghouls.integrity_faults where acknowledged_at is not null")).toEqual(
      [],
    );
  });
});

describe("the deployment's faults", () => {
  test("are seen and acknowledged with deployment:integrity alone", async () => {
    await makeRun(db, { tenantId: "umbrella", digest: "old" });
    await judge([]);
    expect((await list(operator)).faults).toEqual([]);
    const { faults } = await list(deployer);
    expect(faults).toMatchObject([{ tenantId: null, subject: "hello@1 old", open: true }]);
    expect((await acknowledge(operator, faults[0]?.faultId ?? "")).status).toBe(404);
    expect(await acknowledge(deployer, faults[0]?.faultId ?? "")).toMatchObject({
      body: { acknowledged: true, fault: { acknowledged: { by: "user:dee" } } },
    });
  });
});

test("a list goes on where it ended, over open and closed ones, and takes no cursor of another kind", async () => {
  for (let nth = 0; nth < 5; nth += 1) await damaged("acme");
  await judge();
  const ids = (await list(operator)).faults.map(({ faultId }) => faultId);
  await acknowledge(operator, ids[1] ?? "");
  const seen: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: wire.FaultPage = await list(operator, `?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.faults.map(({ faultId }) => faultId));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual([ids[0], ids[2], ids[3], ids[4], ids[1]]);
  for (const wrong of ["x", "oabc", "MTIgYQ"]) {
    const answer = await ask<wire.Problem>("GET", `/v1/integrity?cursor=${wrong}`, operator);
    expect([answer.status, answer.body.detail]).toEqual([422, "the cursor is none of ours"]);
  }
});

describe("/readyz", () => {
  test("is not ready while a fault of the ledger stands unacknowledged, and tells their number alone", async () => {
    expect((await readyz()).body.checks.at(-1)).toEqual({
      name: "integrity",
      ok: true,
      detail: "no fault stands unacknowledged",
    });
    const run = await damaged("acme");
    await damaged("umbrella");
    await judge();
    answered.length = 0;
    const { status, body } = await readyz();
    expect(status).toBe(503);
    expect(body.checks.at(-1)).toEqual({
      name: "integrity",
      ok: false,
      detail: "2 faults stand that nobody has acknowledged",
    });
    expect(JSON.stringify(body)).not.toContain(run.runId);
    // It judges nothing.
    expect(answered).toEqual(["doctor.schema-version", "integrity.unacknowledged"]);
    await acknowledge(operator, (await list(operator)).faults[0]?.faultId ?? "");
    expect((await readyz()).body.checks.at(-1)?.detail).toBe("1 fault stands that nobody has acknowledged");
    await acknowledge(foreign, (await list(foreign)).faults[0]?.faultId ?? "");
    expect((await readyz()).status).toBe(200);
  });

  test("is ready beside runs that a refused deploy has no code for: the code that runs has it", async () => {
    await makeRun(db, { digest: "old" });
    expect((await judge([])).refused.count).toBe(1);
    expect((await readyz()).status).toBe(200);
  });

  test("is not ready where the faults cannot be read, and keeps why to the log", async () => {
    failing = ["integrity.unacknowledged"];
    const { status, body } = await readyz();
    expect(status).toBe(503);
    expect(body.checks.at(-1)).toEqual({
      name: "integrity",
      ok: false,
      detail: "the faults that were found could not be read",
    });
    expect(lines.at(-1)).toContain("the faults of the ledger could not be read");
  });
});
