import { describe, expect, test } from "vitest";
import { ERROR_CODES, GhoulsError } from "@ghouls/core";
import { LedgerError, classify, hasEnded, isPlanStale, sqlStateOf, type LedgerFaultKind } from "./errors.ts";

const coded = (code: unknown) => Object.assign(new Error("x"), { code });

describe("a failed statement is", () => {
  test.each<[string, string, LedgerFaultKind, LedgerFaultKind]>([
    // SQLSTATE, its meaning, for a write, for a read
    ["40001", "a serialization failure", "retry", "retry"],
    ["40P01", "a deadlock", "retry", "retry"],
    ["55P03", "a lock that was not to be had", "busy", "busy"],
    ["25006", "a read-only server", "unavailable", "unavailable"],
    ["53000", "a server without resources", "unavailable", "unavailable"],
    ["53100", "a full disk", "unavailable", "unavailable"],
    ["53200", "a server without memory", "unavailable", "unavailable"],
    ["53300", "a server without connections", "unavailable", "unavailable"],
    ["57014", "a statement that took too long", "unavailable", "unavailable"],
    ["25P03", "a transaction that was idle for too long", "unavailable", "unavailable"],
    ["57P01", "a backend that was told to end", "unknown", "unavailable"],
    ["57P02", "a server that crashed", "unknown", "unavailable"],
    ["57P03", "a server that starts", "unknown", "unavailable"],
    ["57P05", "a session that was idle for too long", "unknown", "unavailable"],
    ["08000", "a connection's fault", "unknown", "unavailable"],
    ["08006", "a broken connection", "unknown", "unavailable"],
    ["08P01", "a protocol's fault, as poolers send it", "unknown", "unavailable"],
    ["42P01", "an absent table", "schema", "schema"],
    ["42703", "an absent column", "schema", "schema"],
    ["42883", "an absent function", "schema", "schema"],
    ["3F000", "an absent schema", "schema", "schema"],
    ["23505", "a broken unique constraint", "defect", "defect"],
    ["23514", "a broken check", "defect", "defect"],
    ["42501", "a right that is missing", "defect", "defect"],
    ["42601", "a statement that is no SQL", "defect", "defect"],
    ["0A000", "a feature that is not there", "defect", "defect"],
    ["22P05", "a character that text cannot hold", "defect", "defect"],
    ["25P02", "a statement after a failed one", "defect", "defect"],
    ["GH001", "a change of a terminal run", "defect", "defect"],
  ])("%s, %s: %s when it writes, %s when it reads", (code, _meaning, writing, reading) => {
    expect(classify(coded(code), true)).toEqual({ kind: writing, sqlState: code });
    expect(classify(coded(code), false)).toEqual({ kind: reading, sqlState: code });
  });

  test("to be repeated where a migration has changed the types of its result, in whatever language it is said", () => {
    const stale = Object.assign(new Error("Plan im Cache"), {
      code: "0A000",
      routine: "RevalidateCachedQuery",
    });
    expect(classify(stale, true)).toEqual({ kind: "retry", sqlState: "0A000" });
    expect(isPlanStale(coded("0A000"))).toBe(false);
  });

  test.each([
    ["a lost connection, which has no code", new Error("Connection terminated unexpectedly")],
    ["a reset", coded("ECONNRESET")],
    ["a broken pipe of five letters, which is no SQLSTATE", coded("EPIPE")],
    ["a refused connection", coded("ECONNREFUSED")],
    ["a name that was not found", coded("ENOTFOUND")],
    ["a code that is a number", coded(40001)],
    ["a code in lower case", coded("40p01")],
    ["a code that is longer", coded("400011")],
    ["a string", "40001"],
    ["null", null],
    ["undefined", undefined],
  ])("of unknown outcome when it writes, and out of reach when it reads: %s", (_what, thrown) => {
    expect(sqlStateOf(thrown)).toBeUndefined();
    expect(classify(thrown, true)).toEqual({ kind: "unknown", sqlState: undefined });
    expect(classify(thrown, false)).toEqual({ kind: "unavailable", sqlState: undefined });
  });
});

test.each([
  ["57P01", true],
  ["57P05", true],
  ["08006", true],
  ["08P01", true],
  ["25P03", true],
  ["25P04", true],
  ["57014", false],
  ["25P02", false],
  ["40001", false],
])("a connection on which the server has said %s is at its end: %s", (sqlState, ended) => {
  expect(hasEnded(sqlState)).toBe(ended);
});

describe("a LedgerError", () => {
  test.each<[LedgerFaultKind, string, number | undefined, RegExp | undefined]>([
    ["retry", "ledger_unavailable", 2, /try again/i],
    ["busy", "admission_busy", 2, /another transaction holds the same key/],
    ["unavailable", "ledger_unavailable", 2, /DATABASE_URL/],
    ["unknown", "outcome_unknown", 2, /same idempotency key/],
    ["schema", "schema_outdated", undefined, /ghouls migrate/],
    ["defect", "internal", undefined, undefined],
  ])("of kind %s has the code %s, a time to come again, and a fix", (kind, code, seconds, fix) => {
    const error = new LedgerError(kind, "runs.admit", "00000", new Error("x"));
    expect(error).toBeInstanceOf(GhoulsError);
    expect(error).toMatchObject({ name: "LedgerError", code, kind, retryAfterSeconds: seconds });
    expect(ERROR_CODES).toContain(error.code);
    if (fix === undefined) expect(error.fix).toBeUndefined();
    else expect(error.fix).toMatch(fix);
  });

  test("says statement, kind and SQLSTATE, and nothing of what the driver said: that may hold row values", () => {
    const cause = Object.assign(new Error('duplicate key "secret"'), {
      code: "23505",
      detail: "Key (input)=(secret) already exists.",
    });
    const error = new LedgerError("defect", "runs.admit", "23505", cause);
    expect(error.message).toBe("the ledger could not carry out runs.admit (defect, SQLSTATE 23505)");
    expect(error.fix ?? "").not.toContain("secret");
    expect(error.cause).toBe(cause);
    expect(new LedgerError("unknown", "runs.admit", undefined, cause).message).toBe(
      "the ledger could not carry out runs.admit (unknown)",
    );
  });
});
