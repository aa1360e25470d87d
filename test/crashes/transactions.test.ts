import { describe, expect, test } from "vitest";
import { addressOf, crashWorld } from "../support/crash-world.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { victims } from "../support/victims.ts";

const world = await crashWorld();
const { db, stub } = world;
await db.admin("create table public.bookings (run_id uuid not null, what text not null)");
await db.admin("grant all on public.bookings to public");
const survivor = await world.start();

const victim = victims(() => world.start());

const bookingsOf = async (runId: string) =>
  (
    await db.admin<{ what: string }>("select what from public.bookings where run_id = $1 order by what", [
      runId,
    ])
  ).map(({ what }) => what);

async function expectOnce(runId: string): Promise<void> {
  await world.audit({ [runId]: "DONE" });
  expect(await bookingsOf(runId)).toEqual(["meal", "seat"]);
  expect(await world.journalOf(runId)).toEqual(["book", "after"]);
  expect((await world.view(runId)).output).toBe("booked");
  expect(stub.names(runId)).toEqual(["after"]);
}

describe("kill -9 of a worker in a transaction: its rows and its entry are there together, and once", () => {
  test.each([
    { point: "worker.before-transaction", nth: 1, committed: false },
    { point: "ledger.before-statement", detail: "transactions.ask", nth: 1, committed: false },
    { point: "ledger.after-statement", detail: "transactions.ask", nth: 1, committed: false },
    { point: "ledger.after-statement", detail: "transactions.ask", nth: 2, committed: false },
    { point: "worker.after-transaction", nth: 1, committed: false },
    { point: "ledger.before-statement", detail: "journal.append", nth: 1, committed: false },
    { point: "ledger.after-statement", detail: "journal.append", nth: 1, committed: false },
    { point: "ledger.before-commit", detail: "transactions", nth: 1, committed: false },
    { point: "ledger.after-commit", detail: "transactions", nth: 1, committed: true },
    { point: "worker.after-journal", detail: "book", nth: 1, committed: true },
  ] as const)("at $point $detail #$nth", async ({ committed, ...place }) => {
    const worker = await victim();
    await worker.faults([{ ...place, action: "kill" }]);
    const { runId } = await world.submit("book");
    const messages = await world.receive();
    expect(await worker.work(messages)).toEqual({ kind: "ended", how: "SIGKILL" });
    expect([await bookingsOf(runId), await world.journalOf(runId)]).toEqual(
      committed ? [["meal", "seat"], ["book"]] : [[], []],
    );
    await world.lapse(messages);
    await world.heal([runId], survivor);
    await expectOnce(runId);
  });
});

test.each(["before", "after"] as const)(
  "a connection that is cut at COMMIT, %s the server has carried it out: the same worker finds out, and goes on",
  async (when) => {
    const proxy = await tcpProxy(addressOf(db.applicationUrl));
    const worker = await world.start({}, proxy.through(db.applicationUrl));
    const { runId } = await world.submit("book");
    const cut = proxy.cutOnce(when, "commit\0");
    expect(await world.step(worker)).toEqual({ kind: "answered", value: { batchItemFailures: [] } });
    await cut;
    await expectOnce(runId);
    expect(await world.deliveriesOf(runId)).toEqual([{ seq: 1, status: "SETTLED", outcome: "done" }]);
  },
);
