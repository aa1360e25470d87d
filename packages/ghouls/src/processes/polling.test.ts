import type { QueuePort, ReceivedMessage } from "@ghouls/core";
import { expect, test } from "vitest";
import { startPolling, type HandledBatch, type PollingOptions } from "./polling.ts";

const message = (id: string): ReceivedMessage => ({
  messageId: id,
  receiptHandle: `h-${id}`,
  body: id,
  receiveCount: 1,
  sentAtMs: 0,
  groupId: undefined,
});

/** A queue that answers what the test gives, and batches that end when it says so. */
function start(over: Partial<PollingOptions> = {}) {
  const asked: unknown[] = [];
  const deleted: string[] = [];
  const polls: ((messages: readonly ReceivedMessage[]) => void)[] = [];
  const batches: { readonly ids: readonly string[]; end: (handled: HandledBatch) => void }[] = [];
  const port: Pick<QueuePort, "receive" | "changeVisibility" | "delete"> = {
    receive: (_, options) => {
      asked.push(options);
      return new Promise((resolve) => polls.push(resolve));
    },
    changeVisibility: () => Promise.resolve(),
    delete: (_, handle) => {
      deleted.push(handle);
      return Promise.resolve();
    },
  };
  const polling = startPolling({
    queue: "runs",
    port,
    room: (_, messages) => 3 - messages,
    handle: (messages) => {
      const { promise, resolve } = Promise.withResolvers<HandledBatch>();
      batches.push({ ids: messages.map(({ messageId }) => messageId), end: resolve });
      return promise;
    },
    log: () => undefined,
    waitSeconds: 2,
    ...over,
  });
  const give = async (...ids: string[]): Promise<void> => {
    await expect.poll(() => polls.length).toBeGreaterThan(0);
    polls.shift()?.(ids.map(message));
  };
  return { polling, asked, deleted, polls, batches, give };
}

test("each message is a batch of its own where that is asked for, and one that ends makes room for another", async () => {
  const { polling, asked, deleted, polls, batches, give } = start({ apart: true, visibilitySeconds: 20 });
  await give("a", "b", "c");
  await expect.poll(() => batches.map(({ ids }) => ids)).toEqual([["a"], ["b"], ["c"]]);
  expect(polls).toEqual([]);
  batches[1]?.end({ deleted: ["b"], ok: true });
  await expect.poll(() => deleted).toEqual(["h-b"]);
  await expect.poll(() => asked.length).toBe(2);
  expect(asked).toEqual([
    { max: 3, waitSeconds: 2, visibilitySeconds: 20 },
    { max: 1, waitSeconds: 2, visibilitySeconds: 20 },
  ]);
  let stopped = false;
  const stopping = polling.stop().then(() => (stopped = true));
  await give();
  batches[0]?.end({ deleted: [], ok: true });
  await expect.poll(() => deleted).toEqual(["h-b"]);
  expect(stopped).toBe(false);
  batches[2]?.end({ deleted: ["c"], ok: true });
  await stopping;
  expect(deleted).toEqual(["h-b", "h-c"]);
});

test("nothing is taken before what it needs is there, nor where it is stopped meanwhile", async () => {
  const gate = Promise.withResolvers<void>();
  const { polling, asked } = start({ ready: () => gate.promise });
  const stopping = polling.stop();
  gate.resolve();
  await stopping;
  expect(asked).toEqual([]);
});
