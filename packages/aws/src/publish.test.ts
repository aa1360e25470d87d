import type { SendMessageBatchCommandInput, SendMessageBatchCommandOutput } from "@aws-sdk/client-sqs";
import type { FaultInjector, Publication } from "@ghouls/core";
import { noFaults } from "@ghouls/core";
import { describe, expect, test } from "vitest";
import { describe as describeError, groupOf } from "./publish.ts";
import type { SqsApi } from "./sqs-api.ts";
import { createSqsQueue } from "./sqs-queue.ts";

type Answer = Partial<Pick<SendMessageBatchCommandOutput, "Successful" | "Failed">>;
const RUN = "00000000-0000-4000-8000-0000000000";

function publications(count: number, queue = "runs"): readonly Publication[] {
  return Array.from({ length: count }, (_, index) => ({
    runId: `${RUN}${String(index).padStart(2, "0")}`,
    enqueueSeq: 1,
    tenantId: "acme",
    queue,
  }));
}

/** A client that answers each batch by a script; the last line of the script is repeated. */
function scripted(script: readonly ((input: SendMessageBatchCommandInput) => Answer)[]) {
  const sent: SendMessageBatchCommandInput[] = [];
  const pauses: number[] = [];
  const api: SqsApi = {
    sendMessageBatch: async (input) => {
      sent.push(input);
      const step = script[Math.min(sent.length, script.length) - 1];
      await Promise.resolve();
      return step === undefined ? {} : step(input);
    },
    receiveMessage: () => Promise.reject(new Error("not used")),
    changeMessageVisibility: () => Promise.reject(new Error("not used")),
    changeMessageVisibilityBatch: () => Promise.reject(new Error("not used")),
    deleteMessage: () => Promise.reject(new Error("not used")),
  };
  const open = (faults: FaultInjector = noFaults, fairQueues = true) =>
    createSqsQueue({
      client: api,
      queueUrls: { runs: "http://127.0.0.1/q/runs", rites: "http://127.0.0.1/q/rites" },
      faults,
      random: () => 0.5,
      sleep: (ms) => Promise.resolve(pauses.push(ms)),
      fairQueues,
    });
  return { sent, pauses, open };
}

const ids = (input: SendMessageBatchCommandInput) => (input.Entries ?? []).map((entry) => entry.Id as string);
const allFine = (input: SendMessageBatchCommandInput): Answer => ({
  Successful: ids(input).map((Id) => ({ Id, MessageId: Id, MD5OfMessageBody: "" })),
  Failed: [],
});
const refuse =
  (senderFault: boolean) =>
  (input: SendMessageBatchCommandInput): Answer => ({
    Successful: [],
    Failed: ids(input).map((Id) => ({ Id, Code: "Busy", SenderFault: senderFault })),
  });

describe("publishing", () => {
  test("makes batches of at most ten, each for one queue, with the pair as body and the tenant as group", async () => {
    const { sent, open } = scripted([allFine]);
    const all = [...publications(23), ...publications(1, "rites")];
    const result = await open().publish(all);
    expect(result.failed).toEqual([]);
    expect(new Set(result.confirmed)).toEqual(new Set(all));
    expect(sent.map((batch) => [batch.QueueUrl?.split("/").at(-1), batch.Entries?.length])).toEqual([
      ["runs", 10],
      ["runs", 10],
      ["runs", 3],
      ["rites", 1],
    ]);
    expect(sent[3]?.Entries?.[0]).toEqual({ Id: "0", MessageBody: `run:${RUN}00:1`, MessageGroupId: "acme" });
  });

  test("nothing to publish sends nothing", async () => {
    const { sent, open } = scripted([allFine]);
    expect(await open().publish([])).toEqual({ confirmed: [], failed: [] });
    expect(sent).toEqual([]);
  });

  test("leaves the group out where it is turned off", async () => {
    const { sent, open } = scripted([allFine]);
    await open(noFaults, false).publish(publications(1));
    expect(Object.keys(sent[0]?.Entries?.[0] ?? {})).toEqual(["Id", "MessageBody"]);
  });

  test("a 200 with a failed entry is sent again, that entry alone, after a pause with jitter", async () => {
    const once = (input: SendMessageBatchCommandInput): Answer => ({
      Successful: [{ Id: ids(input)[0], MessageId: "m", MD5OfMessageBody: "" }],
      Failed: [{ Id: ids(input)[1], Code: "InternalError", SenderFault: false }],
    });
    const { sent, pauses, open } = scripted([once, allFine]);
    const all = publications(2);
    const result = await open().publish(all);
    expect(result).toEqual({ confirmed: all, failed: [] });
    expect(sent[1]?.Entries?.map((entry) => entry.MessageBody)).toEqual([`run:${RUN}01:1`]);
    expect(pauses).toEqual([25]);
  });

  test("tries are bounded, and what stays unconfirmed is failed with its reason", async () => {
    const { sent, pauses, open } = scripted([refuse(false)]);
    const result = await open().publish(publications(2));
    expect(result.confirmed).toEqual([]);
    expect(result.failed.map((failure) => failure.reason)).toEqual(["Busy", "Busy"]);
    expect(sent.length).toBe(3);
    expect(pauses).toEqual([25, 50]);
  });

  test("an answer that forgets entries loses none: they are failed in the end", async () => {
    const { sent, open } = scripted([() => ({})]);
    const all = publications(2);
    const result = await open().publish(all);
    expect(result.failed.map((failure) => failure.publication)).toEqual(all);
    expect(result.failed[0]?.reason).toBe("SQS did not confirm it");
    expect(sent.length).toBe(3);
  });

  test("the sender's own faults are not tried again", async () => {
    const { sent, open } = scripted([refuse(true)]);
    expect((await open().publish(publications(1))).failed).toHaveLength(1);
    expect(sent.length).toBe(1);
  });

  test("a send that throws fails its batch and no other", async () => {
    const { open } = scripted([
      () => {
        throw Object.assign(new Error("socket hang up"), { name: "TimeoutError" });
      },
      allFine,
    ]);
    const result = await open().publish(publications(12));
    expect(result.failed).toHaveLength(10);
    expect(result.failed[0]?.reason).toBe("sending failed: TimeoutError: socket hang up");
    expect(result.confirmed).toHaveLength(2);
  });

  test("an answer lost after the send counts as failed, though the message is there", async () => {
    const { sent, open } = scripted([allFine]);
    const lose: FaultInjector = (point) => {
      if (point === "queue.after-publish") throw new Error("lost");
    };
    const result = await open(lose).publish(publications(1));
    expect(sent.length).toBe(1);
    expect(result.confirmed).toEqual([]);
    expect(result.failed[0]?.reason).toBe("sending failed: Error: lost");
  });

  test("a fault before the send sends nothing, and says for which queue", async () => {
    const { sent, open } = scripted([allFine]);
    const seen: string[] = [];
    const stop: FaultInjector = (point, detail) => {
      seen.push(`${point} ${detail}`);
      throw new Error("stopped");
    };
    expect((await open(stop).publish(publications(1))).failed).toHaveLength(1);
    expect(seen).toEqual(["queue.before-publish runs"]);
    expect(sent).toEqual([]);
  });

  test("a queue without a URL fails its own publications only, also where its name is one of Object's", async () => {
    const { open } = scripted([allFine]);
    const result = await open().publish([...publications(1), ...publications(1, "constructor")]);
    expect(result.confirmed).toHaveLength(1);
    expect(result.failed.map((failure) => failure.reason)).toEqual(['queue "constructor" has no URL here']);
  });
});

test("a delivery that is due later, and a timer, are sent with SQS's own delay", async () => {
  const { sent, open } = scripted([allFine]);
  const [one, other] = publications(2) as [Publication, Publication];
  await open().publish([one, { ...other, delaySeconds: 600 }]);
  await open().wake([{ armId: RUN, tenantId: "acme", queue: "runs", delaySeconds: 0 }]);
  const delays = sent.flatMap(({ Entries = [] }) => Entries.map(({ DelaySeconds }) => DelaySeconds));
  expect(delays).toEqual([undefined, 600, 0]);
});

test("a tenant that SQS takes as a group stays readable; any other becomes a digest", () => {
  expect(groupOf("acme-1")).toBe("acme-1");
  for (const odd of ["", "two words", "größe", "x".repeat(129)])
    expect(groupOf(odd)).toMatch(/^[0-9a-f]{64}$/);
});

test("whatever was thrown is described", () => {
  expect(describeError(new RangeError("far"))).toBe("RangeError: far");
  expect(describeError(undefined)).toBe("undefined");
});
