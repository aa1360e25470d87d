import type { QueuePort, ReceivedMessage } from "@ghouls/core";
import { describe, expect, test } from "vitest";
import type { InvocationResult } from "./lambda-table.ts";
import { startMapping } from "./mapping.ts";
import type { MappingOptions } from "./mapping.ts";
import { arnOf, toSqsEvent } from "./sqs-event.ts";
import type { SqsEvent } from "./sqs-event.ts";
import { until } from "./until.support.ts";

const SOURCE = { arn: "arn:aws:sqs:us-east-1:000000000000:runs", region: "us-east-1" };

function message(id: string): ReceivedMessage {
  return {
    messageId: id,
    receiptHandle: `h-${id}`,
    body: `run:${id}:1`,
    receiveCount: 2,
    sentAtMs: 5,
    groupId: "t",
  };
}

/** A queue whose answers the test gives: a poll waits until there is one. */
function scriptedQueue() {
  const waiting: ((answer: readonly ReceivedMessage[] | Error) => void)[] = [];
  const calls: string[] = [];
  const refuse = new Set<string>();
  const note = (call: string): Promise<void> => {
    calls.push(call);
    return refuse.has(call) ? Promise.reject(new Error("stale")) : Promise.resolve();
  };
  const port: Pick<QueuePort, "receive" | "changeVisibility" | "delete"> = {
    receive: (_, options) =>
      new Promise((resolve, reject) => {
        calls.push(`receive ${options.max} ${options.waitSeconds}`);
        waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
      }),
    changeVisibility: (_, handle, seconds) => note(`change ${handle} ${seconds}`),
    delete: (_, handle) => note(`delete ${handle}`),
  };
  const answer = async (next: readonly ReceivedMessage[] | Error): Promise<void> => {
    await until(() => waiting.length).toBeGreaterThan(0);
    waiting.shift()?.(next);
  };
  return { port, calls, answer, refuse, polls: () => waiting.length };
}

function scriptedFunction() {
  const events: SqsEvent[] = [];
  const open: ((result: InvocationResult) => void)[] = [];
  const invoke = (event: SqsEvent): Promise<InvocationResult> =>
    new Promise((resolve) => {
      events.push(event);
      open.push(resolve);
    });
  const end = async (result: InvocationResult): Promise<void> => {
    await until(() => open.length).toBeGreaterThan(0);
    open.shift()?.(result);
  };
  return { invoke, events, end };
}

function start(over: Partial<MappingOptions> = {}) {
  const queue = scriptedQueue();
  const fn = scriptedFunction();
  const log: string[] = [];
  const mapping = startMapping({
    queue: "runs",
    port: queue.port,
    source: SOURCE,
    batchSize: 3,
    concurrency: 2,
    invoke: fn.invoke,
    log: (text) => log.push(text),
    pauseMs: 1,
    ...over,
  });
  /** Ends a mapping whose poll is open, as an empty long poll would. */
  const stop = async (): Promise<void> => {
    const stopped = mapping.stop(5_000);
    await queue.answer([]);
    await stopped;
  };
  return { queue, fn, log, mapping, stop };
}

const fine: InvocationResult = { ok: true, value: { batchItemFailures: [] } };

describe("an event source mapping", () => {
  test("hands a batch over as Lambda's event, and deletes what the answer allows", async () => {
    const { queue, fn, stop } = start();
    await queue.answer([message("a"), message("b")]);
    await fn.end({ ok: true, value: { batchItemFailures: [{ itemIdentifier: "a" }] } });
    await until(() => queue.calls).toContain("delete h-b");
    await stop();
    expect(fn.events).toEqual([toSqsEvent(SOURCE, [message("a"), message("b")])]);
    expect(queue.calls[0]).toBe("receive 3 1");
    expect(queue.calls).not.toContain("delete h-a");
    expect(queue.calls.some((call) => call.startsWith("change"))).toBe(false);
  });

  test("a failed invocation deletes nothing, changes no visibility, and is told", async () => {
    const { queue, fn, log, stop } = start();
    await queue.answer([message("a")]);
    await fn.end({ ok: false, reason: "the process ended: SIGKILL" });
    await until(() => log).toEqual(["1 message(s) stay in the queue: the process ended: SIGKILL"]);
    await stop();
    expect(queue.calls.filter((call) => !call.startsWith("receive"))).toEqual([]);
  });

  test("does not take more while as many invocations run as it may", async () => {
    const { queue, fn, stop } = start();
    await queue.answer([message("a")]);
    await queue.answer([message("b")]);
    await until(() => fn.events.length).toBe(2);
    expect(queue.polls()).toBe(0);
    await fn.end(fine);
    await until(() => queue.polls()).toBe(1);
    await fn.end(fine);
    await until(() => queue.calls).toContain("delete h-b");
    await stop();
  });

  test("what arrives while it stops goes back at once, and the function is not invoked", async () => {
    const { queue, fn, log, mapping } = start();
    queue.refuse.add("change h-b 0");
    await until(() => queue.polls()).toBe(1);
    const stopped = mapping.stop(5_000);
    await queue.answer([message("a"), message("b")]);
    await stopped;
    expect(fn.events).toEqual([]);
    expect(queue.calls.filter((call) => call.startsWith("change"))).toEqual(["change h-a 0", "change h-b 0"]);
    expect(log).toEqual(["a message was not given back: Error: stale"]);
    expect(queue.polls()).toBe(0);
  });

  test("stopping waits for an invocation under way, and for its deletions", async () => {
    const { queue, fn, mapping } = start({ concurrency: 1 });
    await queue.answer([message("a")]);
    await until(() => fn.events.length).toBe(1);
    const stopped = mapping.stop(5_000);
    await fn.end(fine);
    await stopped;
    expect(queue.calls).toContain("delete h-a");
  });

  test("stopping gives up on an invocation after its bound", async () => {
    const { queue, fn, mapping } = start({ concurrency: 1 });
    await queue.answer([message("a")]);
    await until(() => fn.events.length).toBe(1);
    await mapping.stop(10);
    expect(queue.calls).toEqual(["receive 3 1"]);
    await fn.end(fine);
  });

  test("a delete that fails is told and hinders no other", async () => {
    const { queue, fn, log, stop } = start();
    queue.refuse.add("delete h-a");
    await queue.answer([message("a"), message("b")]);
    await fn.end(fine);
    await until(() => log).toEqual(["a message was not deleted: Error: stale"]);
    await stop();
    expect(queue.calls).toContain("delete h-b");
  });

  test("a queue out of reach is asked again, and its messages arrive later", async () => {
    const { queue, fn, log, stop } = start();
    await queue.answer(new Error("refused"));
    await queue.answer(new Error("refused"));
    await queue.answer([message("a")]);
    await fn.end(fine);
    await until(() => queue.calls).toContain("delete h-a");
    await stop();
    expect(log).toEqual([
      "the queue cannot be read: Error: refused",
      "the queue cannot be read: Error: refused",
    ]);
  });

  test("a mapping that pauses stops at once", async () => {
    const { queue, log, mapping } = start({ pauseMs: 1_000_000 });
    await queue.answer(new Error("refused"));
    await until(() => log.length).toBe(1);
    await mapping.stop(5_000);
    expect(queue.calls).toHaveLength(1);
  });
});

test("the event has the fields of Lambda's", () => {
  expect(toSqsEvent(SOURCE, [message("a"), { ...message("b"), groupId: undefined }]).Records).toEqual([
    {
      messageId: "a",
      receiptHandle: "h-a",
      body: "run:a:1",
      attributes: {
        ApproximateReceiveCount: "2",
        SentTimestamp: "5",
        SenderId: "local",
        ApproximateFirstReceiveTimestamp: "5",
        MessageGroupId: "t",
      },
      messageAttributes: {},
      md5OfBody: "",
      eventSource: "aws:sqs",
      eventSourceARN: SOURCE.arn,
      awsRegion: "us-east-1",
    },
    expect.objectContaining({
      attributes: expect.not.objectContaining({ MessageGroupId: expect.anything() }),
    }),
  ]);
});

test("a queue's ARN is read from its URL", () => {
  expect(arnOf("http://127.0.0.1:9324/000000000000/runs", "us-east-1")).toBe(SOURCE.arn);
  expect(arnOf("https://sqs.eu-west-1.amazonaws.com/123456789012/ghouls-runs", "eu-west-1")).toBe(
    "arn:aws:sqs:eu-west-1:123456789012:ghouls-runs",
  );
});
