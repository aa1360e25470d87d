import { expect, test } from "vitest";
import { HANDS_OVER, crashWorld } from "../support/crash-world.ts";
import { faultyQueue, mortalQueue } from "../support/sqs-faults.ts";
import { until } from "../support/wait.ts";

const sqs = await mortalQueue();
const queue = faultyQueue(sqs.open());
const { faults } = queue;
const world = await crashWorld({ sqs: { ...sqs, open: () => queue } });
const { stub } = world;
const worker = await world.start();
const THREE = ["one", "pay", "three"];

const submit = async (count: number) => {
  const runIds: string[] = [];
  for (let at = 0; at < count; at += 1) runIds.push((await world.submit("three")).runId);
  return runIds;
};
const doneAll = (runIds: readonly string[]) => Object.fromEntries(runIds.map((id) => [id, "DONE" as const]));
const expectOnce = async (runIds: readonly string[]) => {
  await world.audit(doneAll(runIds));
  for (const runId of runIds) expect(stub.names(runId)).toEqual(THREE);
};

test("SQS is away for ten minutes, and forgets everything: every run is done once all the same", async () => {
  const before = await submit(2);
  // One run is in the middle, and must hand over while there is nobody to hand over to.
  const { runId: moving } = await world.submit("many", { ...HANDS_OVER, steps: 8 });
  const messages = await world.receive();
  let during: string[] = [];
  const carried = await world.workShortly(
    worker,
    messages.filter((one) => one.body.includes(moving)),
    moving,
    async () => {
      await sqs.stop();
      during = await submit(2);
    },
  );
  expect(carried).toMatchObject({ kind: "answered" });
  expect(await world.statusOf(moving)).toBe("QUEUED");
  let tries = 0;
  for (let minute = 1; minute <= 10; minute += 1) {
    await world.advance(60);
    tries += (await world.reconcile()).relay.failed;
  }
  // It was tried again and again, with growing delays, and nobody's run was ended.
  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThan(60);
  for (const runId of [...before, ...during, moving]) expect(await world.statusOf(runId)).toBe("QUEUED");

  await sqs.start();
  const all = [...before, ...during, moving];
  await world.heal(all, worker);
  await world.audit(doneAll(all));
  await expectOnce([...before, ...during]);
  expect(stub.names(moving)).toEqual(["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]);
  expect(worker.alive()).toBe(true);
});

test("messages that are confirmed and never arrive are published again", async () => {
  faults.drop = 3;
  const runIds = await submit(4);
  expect(faults.drop).toBe(0);
  expect((await world.receive()).length).toBe(1);
  await world.advance(70);
  await world.heal(runIds, worker);
  await expectOnce(runIds);
});

test("messages that arrive three times and in reverse order are carried once, and all of them go", async () => {
  faults.copies = 3;
  faults.reorder = true;
  const runIds = await submit(4);
  faults.copies = 1;
  faults.reorder = false;
  await queue.flush();
  const other = await world.start();
  const feeding = world.feed(() => [worker, other]);
  await until("their end", async () => {
    const statuses = await Promise.all(runIds.map((id) => world.statusOf(id)));
    return statuses.every((status) => status === "DONE");
  });
  await feeding.stop();
  await expectOnce(runIds);
  for (const runId of runIds) expect((await world.deliveriesOf(runId)).length).toBe(1);
});

test("an old message that comes after its run went on changes nothing", async () => {
  faults.reorder = true;
  const [runId = ""] = await submit(1);
  faults.reorder = false;
  await world.advance(70);
  await world.heal([runId], worker);
  await queue.flush();
  const late = await world.receive();
  expect(late.map((one) => one.body)).toEqual([`run:${runId}:1`]);
  expect(await worker.work(late)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
  await expectOnce([runId]);
});

test("throttled and lost answers of every call: nothing is lost, nothing done twice", async () => {
  faults.throttle = 2;
  faults.lose = 2;
  const runIds = await submit(4);
  expect(faults).toMatchObject({ throttle: 0, lose: 0 });
  // A receive that is refused, one whose messages are lost on their way, and deletes that are not heard of.
  const feeding = world.feed(() => [worker]);
  faults.throttle = 1;
  faults.lose = 2;
  await world.finish(runIds, feeding);
  await feeding.stop();
  await expectOnce(runIds);
});

test("a worker whose own calls to SQS are refused or not answered hands over all the same", async () => {
  for (const point of ["queue.before-publish", "queue.after-publish"] as const) {
    await worker.faults([{ point, action: "lose", times: 100 }]);
    const { runId } = await world.submit("many", HANDS_OVER);
    const [message] = (await world.receive()).filter((one) => one.body.includes(runId));
    if (message === undefined) throw new Error("no message");
    expect(await world.workShortly(worker, [message], runId)).toEqual({
      kind: "answered",
      value: { batchItemFailures: [] },
    });
    expect(await world.statusOf(runId)).toBe("QUEUED");
    await worker.faults([]);
    await world.advance(70);
    await world.heal([runId], worker);
    await world.audit({ [runId]: "DONE" });
    expect(stub.names(runId)).toEqual(["s1", "s2"]);
  }
});
