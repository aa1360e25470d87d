import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { testWorld } from "../support/world.ts";

/** A codec asks somebody, such as a store of keys: for one run it may not answer. */

let hangsFor = "";
const world = await testWorld({
  workflows: [
    workflow({
      name: "fails",
      version: 1,
      onWorkerLoss: "fail",
      input: z.unknown(),
      run: (ctx) => ctx.sleep("1h"),
    }),
  ],
  settings: { ownerDeadlineMs: 2_000 },
  codec: {
    encode: (text, { runId, kind }) =>
      kind === "error" && runId === hangsFor ? new Promise<string>(() => undefined) : Promise.resolve(text),
    decode: (text) => Promise.resolve(text),
  },
});

test.each(["holds", "reanimation"] as const)(
  "a codec that hangs for one owner costs no other of its batch its turn: %s",
  async (pass) => {
    await world.reset();
    const runIds: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { runId } = await world.submit(
        "fails",
        null,
        pass === "holds" ? { held: true, holdFor: "1m" } : {},
      );
      runIds.push(runId);
      if (pass === "reanimation")
        await world.ledger.deliveries.claimIfDue([{ runId, enqueueSeq: 1, token: randomUUID() }], {
          worker: "lost",
          leaseSeconds: 60,
          actsForSeconds: 60,
        });
    }
    hangsFor = runIds[1] ?? "";
    await world.advance(180);
    const report = await world.reconcile();
    expect(report[pass]).toMatchObject({ found: 3, repaired: 2, failed: 1 });
    expect(await world.db.admin("select owner from ghouls.degraded_owners")).toEqual([{ owner: hangsFor }]);
  },
);
