import { describe, expect, test } from "vitest";
import { readBatchAnswer } from "./batch-result.ts";

const failed = (reason: string, senderFault = false) => ({ kind: "failed", reason, senderFault });

describe("the answer to a batch", () => {
  test("confirms what it names as successful, whatever the order", () => {
    expect(readBatchAnswer(["0", "1"], { Successful: [{ Id: "1" }, { Id: "0" }] })).toEqual([
      { kind: "confirmed" },
      { kind: "confirmed" },
    ]);
  });

  test("a 200 that holds failures confirms only the others, and keeps code, message and whose fault it was", () => {
    const answer = {
      Successful: [{ Id: "0" }],
      Failed: [
        { Id: "1", Code: "InternalError", Message: "try again", SenderFault: false },
        { Id: "2", Code: "InvalidMessageContents", SenderFault: true },
        { Id: "3" },
      ],
    };
    expect(readBatchAnswer(["0", "1", "2", "3"], answer)).toEqual([
      { kind: "confirmed" },
      failed("InternalError: try again"),
      failed("InvalidMessageContents", true),
      failed("SQS refused it without a reason"),
    ]);
  });

  test("an entry that the answer does not name is failed", () => {
    expect(readBatchAnswer(["0", "1"], { Successful: [{ Id: "0" }] })[1]).toEqual(
      failed("SQS did not confirm it"),
    );
    expect(readBatchAnswer(["0"], {})).toEqual([failed("SQS did not confirm it")]);
  });

  test("one success told twice does not stand for two entries", () => {
    const outcomes = readBatchAnswer(["0", "1"], { Successful: [{ Id: "0" }, { Id: "0" }] });
    expect(outcomes).toEqual([
      failed("SQS confirmed it more than once in one answer"),
      failed("SQS did not confirm it"),
    ]);
  });

  test("names that were not sent, or no names, confirm nothing", () => {
    const outcomes = readBatchAnswer(["0"], { Successful: [{ Id: "9" }, {}], Failed: [{ Id: "8" }, {}] });
    expect(outcomes).toEqual([failed("SQS did not confirm it")]);
  });

  test("an entry that is both is failed, and may be tried again", () => {
    const answer = { Successful: [{ Id: "0" }], Failed: [{ Id: "0", SenderFault: true }] };
    expect(readBatchAnswer(["0"], answer)).toEqual([failed("SQS reported it as sent and as failed")]);
  });
});
