import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideBatch } from "./lambda-table.ts";

const BATCH = ["a", "b", "c"];
const answered = (value: unknown) => decideBatch(BATCH, { ok: true, value });
const ALL_DELETED = { deleted: BATCH, retried: [] };
const allRetried = (reason: string) => ({ deleted: [], retried: BATCH, reason });

describe("AWS's table of partial batch responses", () => {
  test.each([
    ["null", null],
    ["undefined", undefined],
    ["an empty object", {}],
    ["an empty list", { batchItemFailures: [] }],
    ["a list that is null", { batchItemFailures: null }],
    ["a list that is undefined", { batchItemFailures: undefined }],
  ])("%s deletes the whole batch", (_, value) => {
    expect(answered(value)).toEqual(ALL_DELETED);
  });

  test.each([
    ["a text", "done", "the response is not an object"],
    ["an empty text", "", "the response is not an object"],
    ["a number", 0, "the response is not an object"],
    ["false", false, "the response is not an object"],
    ["a bare list", [], "the response is not an object"],
    ["another key", { batchItemFailure: [] }, "the response has no batchItemFailures"],
    ["a status", { statusCode: 200 }, "the response has no batchItemFailures"],
    ["no list", { batchItemFailures: {} }, "batchItemFailures is not a list"],
    ["a text for a list", { batchItemFailures: "a" }, "batchItemFailures is not a list"],
  ])("%s retries the whole batch", (_, value, reason) => {
    expect(answered(value)).toEqual(allRetried(reason));
  });

  const none = "an entry of batchItemFailures has no itemIdentifier";
  test.each([
    ["an empty text", [{ itemIdentifier: "" }], none],
    ["null", [{ itemIdentifier: null }], none],
    ["missing", [{}], none],
    ["a number", [{ itemIdentifier: 1 }], none],
    ["under another key", [{ itemId: "a" }], none],
    ["in an entry that is null", [null], none],
    ["in an entry that is a text", ["a"], none],
    ["unknown", [{ itemIdentifier: "z" }], "an itemIdentifier is none of the batch's messages"],
    ["wrong beside a right one", [{ itemIdentifier: "a" }, { itemIdentifier: "" }], none],
  ])("an itemIdentifier that is %s retries the whole batch", (_, batchItemFailures, reason) => {
    expect(answered({ batchItemFailures })).toEqual(allRetried(reason));
  });

  test("listed messages are retried and the others deleted, however often they are listed", () => {
    const batchItemFailures = [{ itemIdentifier: "b" }, { itemIdentifier: "b", extra: 1 }];
    expect(answered({ batchItemFailures })).toEqual({ deleted: ["a", "c"], retried: ["b"] });
    expect(answered({ batchItemFailures, other: true })).toEqual({ deleted: ["a", "c"], retried: ["b"] });
  });

  test("a list of all deletes none", () => {
    const batchItemFailures = BATCH.map((itemIdentifier) => ({ itemIdentifier }));
    expect(answered({ batchItemFailures })).toEqual({ deleted: [], retried: BATCH });
  });

  test("a failed invocation retries the whole batch", () => {
    expect(decideBatch(BATCH, { ok: false, reason: "SIGKILL" })).toEqual(allRetried("SIGKILL"));
  });

  test("every message is either deleted or retried, whatever the answer", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const { deleted, retried } = answered(value);
        expect([...deleted, ...retried].toSorted()).toEqual(BATCH);
      }),
    );
  });
});
