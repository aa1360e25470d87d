import { randomUUID } from "node:crypto";
import pg from "pg";
import { sha256 } from "@ghouls/core";
import type { Executor } from "@ghouls/ledger";
import { insertRunsIfKeyIsNew } from "../../packages/ledger/src/admission/admissions.ts";
import { claimDeliveriesIfDue } from "../../packages/ledger/src/hops/claims.ts";
import { settleDeliveryIfClaimed } from "../../packages/ledger/src/hops/settlements.ts";

/** The bare statements of a zero-step run over `pg`: no queue, no engine, no HTTP. Each is a commit of its own. */

const INPUT = "null";

function executorOver(client: pg.Client): Executor {
  return {
    run: async ({ name, text }, values) => (await client.query({ name, text, values: [...values] })).rows,
  };
}

async function oneRun(executor: Executor): Promise<void> {
  const [runId, token] = [randomUUID(), randomUUID()];
  const newRun = {
    tenantId: "default",
    runId,
    idempotencyKey: randomUUID(),
    requestDigest: sha256(INPUT),
    workflow: { name: "zero-step", version: 1, digest: sha256("floor") },
    queue: "runs",
    priority: 5,
    agent: null,
    requestedBy: "submitter",
    requestedRoles: ["submitter"],
    inputText: INPUT,
    inputDigest: sha256(INPUT),
    deadlineMs: null,
    onWorkerLoss: "resume" as const,
    held: false,
    holdMs: 3_600_000,
    startAfter: null,
  };
  await insertRunsIfKeyIsNew(executor, [newRun], { lockTimeoutMs: 2_000, publisherGraceSeconds: 15 });
  const [claim] = await claimDeliveriesIfDue(executor, [{ runId, enqueueSeq: 1, token }], {
    worker: "floor",
    leaseSeconds: 120,
    actsForSeconds: 960,
  });
  if (claim === undefined) throw new Error("the floor could not claim its own run");
  const settlement = { status: "DONE", outputText: INPUT, outputDigest: sha256(INPUT) } as const;
  const answer = await settleDeliveryIfClaimed(executor, claim, settlement);
  if (!answer.settled) throw new Error("the floor could not settle its own run");
}

/** Runs the three statements in a loop on each of the connections. */
export async function floor(
  connectionString: string,
  connections: number,
  seconds: number,
): Promise<{ readonly runs: number; readonly seconds: number }> {
  const clients = Array.from(
    { length: connections },
    () => new pg.Client({ connectionString, application_name: "floor" }),
  );
  await Promise.all(clients.map((client) => client.connect()));
  try {
    // Plans are made by the first runs.
    await Promise.all(clients.map((client) => oneRun(executorOver(client))));
    const started = performance.now();
    const end = started + seconds * 1_000;
    let runs = 0;
    await Promise.all(
      clients.map(async (client) => {
        const executor = executorOver(client);
        while (performance.now() < end) {
          await oneRun(executor);
          runs += 1;
        }
      }),
    );
    return { runs, seconds: (performance.now() - started) / 1_000 };
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
