import { randomUUID } from "node:crypto";
import type { Claim } from "@ghouls/core";
import type { Ledger, NewEntry, NewRun } from "@ghouls/ledger";
import { CLAIM, newRun } from "./new-run.ts";

export const ENTRY: NewEntry = {
  epoch: 0,
  scope: "",
  kind: "step",
  name: "a",
  nth: 1,
  outcome: "ok",
  resultText: "1",
  resultDigest: "d",
  resultBytes: 1,
  tries: 1,
  tookMs: 5,
};

/** Admits a run whose publication is due at once. */
export async function admitDue(
  ledger: Ledger,
  idempotencyKey: string,
  options: Partial<NewRun> = {},
): Promise<NewRun> {
  const run = newRun({ idempotencyKey, ...options });
  const created = await ledger.runs.admit([run], { lockTimeoutMs: 2_000, publisherGraceSeconds: 0 });
  if (!created.has(run.runId)) throw new Error("not admitted");
  return run;
}

/** Carries one run through every kind of statement, with the ledger alone. */
export async function wholeLife(ledger: Ledger, idempotencyKey: string): Promise<Claim> {
  await ledger.workflows.record([{ name: "hello", version: 1, digest: "hello@1" }], "build-1");
  const { tenantId, runId } = await admitDue(ledger, idempotencyKey, { held: true });
  if (!(await ledger.deliveries.releaseIfHeld({ tenantId, runId }, 0))) throw new Error("not released");
  const due = (await ledger.deliveries.duePublications({ limit: 10 })).found;
  if ((await ledger.deliveries.markPublished(due)) !== 1) throw new Error("not published");
  const run = { tenantId, runId, seq: 1, token: randomUUID() };
  const [claimed] = await ledger.deliveries.claimIfDue([{ ...run, enqueueSeq: 1 }], CLAIM);
  if (claimed === undefined) throw new Error("not claimed");
  if ((await ledger.journal.appendIfClaimed(run, ENTRY)) === null) throw new Error("not journaled");
  const settled = await ledger.deliveries.settleIfClaimed(run, {
    status: "DONE",
    outputText: "1",
    outputDigest: "d",
  });
  if (!settled.settled) throw new Error("not settled");
  return run;
}
