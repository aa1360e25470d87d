import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sha256 } from "@ghouls/core";
import { LedgerError, type NewEntry } from "@ghouls/ledger";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { ADMIT, CLAIM, newRun } from "../support/new-run.ts";
import { ODD_TEXTS } from "../support/payloads.ts";
import { ENTRY } from "../support/whole-life.ts";

const db = await testDatabase();
const ledger = db.ledger();
const entryOf = (resultText: string | null, more: Partial<NewEntry> = {}): NewEntry => ({
  ...ENTRY,
  resultText,
  resultDigest: resultText === null ? null : sha256(resultText),
  ...more,
});

/** The digest that PostgreSQL itself computes over the bytes that it holds. */
async function digestsOf(column: string, table: string, runId: string): Promise<(string | null)[]> {
  const rows = await db.admin<{ digest: string | null }>(
    `select encode(sha256(convert_to(${column}, 'UTF8')), 'hex') as digest from ghouls.${table} where run_id = $1`,
    [runId],
  );
  return rows.map((row) => row.digest);
}

describe.each(ODD_TEXTS)("%s", (_what, text) => {
  test("comes back byte for byte as an input, a result and an output", async () => {
    const run = newRun({ inputText: text });
    await ledger.runs.admit([run], ADMIT);
    const claim = { tenantId: "acme", runId: run.runId, seq: 1, token: run.runId };
    const [claimed] = await ledger.deliveries.claimIfDue([{ ...claim, enqueueSeq: 1 }], CLAIM);
    expect(claimed?.inputText).toBe(text);
    expect(claimed?.inputDigest).toBe(sha256(text));
    await ledger.journal.appendIfClaimed(claim, entryOf(text));
    const [entry] = await ledger.journal.read(run);
    expect(entry?.resultText).toBe(text);
    await ledger.deliveries.settleIfClaimed(claim, {
      status: "DONE",
      outputText: text,
      outputDigest: sha256(text),
    });
    const done = await ledger.runs.get(run);
    expect([done?.inputText, done?.outputText]).toEqual([text, text]);

    const inTheDatabase = [
      await digestsOf("input_text", "runs", run.runId),
      await digestsOf("output_text", "runs", run.runId),
      await digestsOf("result_text", "journal", run.runId),
    ].flat();
    const hex = createHash("sha256").update(text, "utf8").digest("hex");
    expect(inTheDatabase).toEqual([hex, hex, hex]);
  });

  test("comes back byte for byte as an error", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const settled = await ledger.deliveries.settleIfClaimed(run, {
      status: "FAILED",
      errorCode: "x",
      errorText: text,
      errorDigest: sha256(text),
    });
    expect(settled).toEqual({ settled: true, runStatus: "FAILED" });
    expect((await ledger.runs.get(run))?.errorText).toBe(text);
  });
});

describe("a journal", () => {
  test("tells undefined, which has no text, from null and from an empty text", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    for (const [name, text] of [
      ["undefined", null],
      ["null", "null"],
      ["empty", ""],
    ] as const) {
      await ledger.journal.appendIfClaimed(run, entryOf(text, { name }));
    }
    expect((await ledger.journal.read(run)).map((entry) => entry.resultText)).toEqual([null, "null", ""]);
  });

  test("is read in the order of its numbers, not of their digits: 9 before 10, 99 before 100", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    for (let nth = 1; nth <= 101; nth += 1) {
      expect((await ledger.journal.appendIfClaimed(run, entryOf("1", { nth })))?.ordinal).toBe(nth);
    }
    const entries = await ledger.journal.read(run);
    expect(entries.map((entry) => entry.nth)).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
    const found = await ledger.runs.get(run);
    expect(found?.journalLength).toBe(101);
  });

  test("numbers what parallel steps of one claim finish without a gap and without a number twice", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const many = db.ledger({ maxConnections: 10 });
    const appended = await Promise.all(
      Array.from({ length: 20 }, (_, nth) =>
        many.journal.appendIfClaimed(run, entryOf("1", { nth, resultBytes: 3 })),
      ),
    );
    const ordinals = appended.map((one) => one?.ordinal ?? 0).toSorted((a, b) => a - b);
    expect(ordinals).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const [row] = await db.admin("select journal_length, journal_bytes from ghouls.runs where run_id = $1", [
      run.runId,
    ]);
    expect(row).toEqual({ journal_length: 20, journal_bytes: "60" });
  });

  test("holds one entry for one call that twenty tries finish at once, and all are told the same", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const many = db.ledger({ maxConnections: 10 });
    const appended = await Promise.all(
      Array.from({ length: 20 }, () => many.journal.appendIfClaimed(run, entryOf("1"))),
    );
    expect(new Set(appended.map((one) => `${one?.ordinal} ${one?.completedAt.toISOString()}`)).size).toBe(1);
    expect(await ledger.journal.read(run)).toHaveLength(1);
  });

  test.each<[string, Partial<NewEntry>]>([
    ["epoch", { epoch: 1 }],
    ["scope", { scope: "map:0" }],
    ["kind", { kind: "transaction" as NewEntry["kind"] }],
    ["name", { name: "b" }],
    ["use of its name", { nth: 2 }],
  ])("takes a call of another %s for another call", async (_what, other) => {
    const run = await makeRun(db, { status: "RUNNING" });
    expect((await ledger.journal.appendIfClaimed(run, entryOf("1")))?.ordinal).toBe(1);
    expect((await ledger.journal.appendIfClaimed(run, entryOf("1", other)))?.ordinal).toBe(2);
  });

  test("keeps the time of a step to the millisecond, as a Date gives it back", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const appended = await ledger.journal.appendIfClaimed(run, entryOf("1", { tookMs: 1_234 }));
    const [entry] = await ledger.journal.read(run);
    expect(entry?.completedAt).toEqual(appended?.completedAt);
    expect(Number(entry?.completedAt) - Number(entry?.startedAt)).toBe(1_234);
    const [row] = await db.admin(
      "select completed_at = date_trunc('milliseconds', completed_at) as whole from ghouls.journal where run_id = $1",
      [run.runId],
    );
    expect(row).toEqual({ whole: true });
  });

  test("refuses a raw NUL, which no text of PostgreSQL holds, without a trace", async () => {
    const run = await makeRun(db, { status: "RUNNING" });
    const refused = await ledger.journal
      .appendIfClaimed(run, entryOf("a\0b"))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LedgerError);
    expect(refused).toMatchObject({ kind: "defect", sqlState: "22021" });
    expect(await ledger.journal.read(run)).toEqual([]);
    expect((await ledger.runs.get(run))?.journalLength).toBe(0);
  });
});
