import { randomUUID } from "node:crypto";
import { sha256 } from "@ghouls/core";
import type { NewRun } from "@ghouls/ledger";

export const ADMIT = { lockTimeoutMs: 2_000, publisherGraceSeconds: 15 } as const;
export const CLAIM = { worker: "worker-0", leaseSeconds: 120, actsForSeconds: 180 } as const;

/** A run to admit of which a test names only what it is about. */
export function newRun(options: Partial<NewRun> = {}): NewRun {
  const inputText = options.inputText ?? "null";
  return {
    tenantId: "acme",
    runId: randomUUID(),
    idempotencyKey: randomUUID(),
    requestDigest: "r",
    workflow: { name: "hello", version: 1, digest: "hello@1" },
    queue: "runs",
    priority: 5,
    agent: null,
    requestedBy: "user:ada",
    requestedRoles: ["operator"],
    inputDigest: sha256(inputText),
    deadlineMs: null,
    onWorkerLoss: "resume",
    held: false,
    holdMs: 60_000,
    startAfter: null,
    ...options,
    inputText,
  };
}
