import { expect, test } from "vitest";
import { TestQueue } from "./queue.ts";

const RUN = "11111111-1111-4111-8111-111111111111";
const OTHER = "22222222-2222-4222-8222-222222222222";
const delivery = (enqueueSeq: number, runId = RUN, queue = "runs") => ({
  tenantId: "test",
  runId,
  enqueueSeq,
  queue,
});
const any = () => true;

function queueAt(startMs: number) {
  const clock = { nowMs: startMs };
  return { clock, queue: new TestQueue(() => Promise.resolve(clock.nowMs)) };
}

test("hands messages out in their order, each hidden until its time is over or it is deleted", async () => {
  const { clock, queue } = queueAt(1_000);
  expect(await queue.publish([delivery(1), delivery(2)])).toMatchObject({ failed: [] });
  const first = await queue.take(any, 10_000);
  expect(first).toMatchObject({
    body: `run:${RUN}:1`,
    queue: "runs",
    receiveCount: 1,
    sentAtMs: 1_000,
    groupId: "test",
  });
  const second = await queue.take(any);
  expect(second?.body).toBe(`run:${RUN}:2`);
  expect(await queue.take(any)).toBeUndefined();
  clock.nowMs = 11_000;
  const again = await queue.take(any);
  expect(again).toMatchObject({ messageId: first?.messageId, receiveCount: 2 });
  await queue.delete("runs", again?.receiptHandle ?? "");
  await queue.delete("runs", second?.receiptHandle ?? "");
  clock.nowMs = 10_000_000;
  expect(await queue.take(any)).toBeUndefined();
});

test("keeps a timer's message until its delay is over, and says what was published", async () => {
  const { clock, queue } = queueAt(0);
  const wake = { armId: OTHER, tenantId: "test", queue: "runs", delaySeconds: 60 };
  expect(await queue.wake([wake])).toEqual([]);
  expect(queue.published).toEqual([
    { queue: "runs", body: `wake:${OTHER}`, dueAt: new Date(60_000), copies: 1 },
  ]);
  expect(await queue.take(any)).toBeUndefined();
  clock.nowMs = 60_000;
  expect((await queue.take(any))?.body).toBe(`wake:${OTHER}`);
});

test("gives a queue's messages to who receives from it, as many as are asked for", async () => {
  const { queue } = queueAt(0);
  await queue.publish([delivery(1), delivery(1, OTHER, "rites"), delivery(2), delivery(3)]);
  const received = await queue.receive("runs", { max: 2, waitSeconds: 0, visibilitySeconds: 30 });
  expect(received.map(({ body }) => body)).toEqual([`run:${RUN}:1`, `run:${RUN}:2`]);
  expect(await queue.receive("rites", { max: 10, waitSeconds: 0 })).toHaveLength(1);
});

test("takes only what is wanted", async () => {
  const { queue } = queueAt(0);
  await queue.publish([delivery(1), delivery(1, OTHER)]);
  expect((await queue.take(({ runId }) => runId === OTHER))?.body).toBe(`run:${OTHER}:1`);
});

test("changes the visibility of what is held, and refuses a handle of nobody's", async () => {
  const { queue } = queueAt(0);
  await queue.publish([delivery(1)]);
  const held = await queue.take(any);
  await queue.changeVisibility("runs", held?.receiptHandle ?? "", 0);
  const again = await queue.take(any);
  expect(again?.receiveCount).toBe(2);
  expect(await queue.changeVisibilities("runs", [held?.receiptHandle ?? ""], 5)).toEqual([
    held?.receiptHandle,
  ]);
  await expect(queue.changeVisibility("rites", again?.receiptHandle ?? "", 5)).rejects.toThrow(
    'the queue "rites"',
  );
});

test("loses the next messages while it says that they were sent, hands out others twice, and forgets all that", async () => {
  const { queue } = queueAt(0);
  queue.dropNext();
  queue.duplicateNext();
  const { confirmed } = await queue.publish([delivery(1), delivery(2), delivery(3)]);
  expect(confirmed).toHaveLength(3);
  expect(queue.published.map(({ copies }) => copies)).toEqual([0, 2, 1]);
  const bodies = (await queue.receive("runs", { max: 10, waitSeconds: 0 })).map(({ body }) => body);
  expect(bodies).toEqual([`run:${RUN}:2`, `run:${RUN}:2`, `run:${RUN}:3`]);
  queue.dropNext(5);
  queue.clear();
  expect(queue.published).toEqual([]);
  await queue.publish([delivery(4)]);
  expect(queue.published).toMatchObject([{ copies: 1 }]);
});
