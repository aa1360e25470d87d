import { expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
const db = await testDatabase();
test("smoke", async () => {
  const ledger = db.ledger();
  const run = { tenantId: "a", runId: crypto.randomUUID(), idempotencyKey: "k", requestDigest: "d", workflow: { name: "w", version: 1, digest: "x" }, queue: "runs", priority: 5, agent: null, requestedBy: "me", requestedRoles: ["r"], inputText: "{}", inputDigest: "z", deadlineMs: null, held: false, holdMs: 1000 };
  expect(await ledger.runs.admit([run], { lockTimeoutMs: 2000, publisherGraceSeconds: 0 })).toEqual(new Set([run.runId]));
  expect(await ledger.deliveries.duePublications(10)).toHaveLength(1);
  const token = crypto.randomUUID();
  const [claim] = await ledger.deliveries.claimIfDue([{ runId: run.runId, enqueueSeq: 1, token }], { worker: "w", leaseSeconds: 120, actsForSeconds: null });
  expect(claim?.token).toBe(token);
  expect(await ledger.journal.appendIfClaimed(claim!, { epoch: 0, scope: "", kind: "step", name: "a", nth: 1, outcome: "ok", resultText: "1", resultDigest: "x", resultBytes: 1, tries: 1, tookMs: 3 })).toMatchObject({ ordinal: 1 });
  expect(await ledger.deliveries.settleIfClaimed(claim!, { status: "DONE", outputText: null, outputDigest: null })).toEqual({ settled: true });
  expect((await ledger.doctor()).filter((c) => !c.ok)).toEqual([]);
  expect((await ledger.runs.page("a", {}, { limit: 1 })).runs).toHaveLength(1);
  expect(await ledger.deliveries.ofRun(run)).toHaveLength(1);
  expect(await ledger.runs.byKey([{tenantId: "a", idempotencyKey: "k"}])).toHaveLength(1);
});
