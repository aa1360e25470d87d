import type { Codec, Pause, Run, RunFailure, wire } from "@ghouls/core";
import { isRunId } from "@ghouls/core";
import type { ContainmentItem, Ledger, OpenArm, Reservation, StoredRun } from "@ghouls/ledger";
import { evidenceOf } from "./evidence/view.ts";
import { itemView } from "./items.ts";
import { heldBy } from "./pauses.ts";
import type { Registry } from "./registry.ts";
import { countsOf, pinnedOf, stretchOf } from "./run-counts.ts";
import type { ReadService } from "./services.ts";
import { timelineOf } from "./timeline.ts";

/** What people and programs read of a tenant's runs; bodies come back through the codec. */
export function createReads(options: {
  readonly ledger: Ledger;
  readonly codec: Codec;
  readonly registry: Pick<Registry, "carried">;
}): ReadService {
  const { ledger, codec, registry } = options;
  return {
    getRun: async (tenantId, runId) => {
      if (!isRunId(runId)) return undefined;
      const run = await ledger.runs.get({ tenantId, runId });
      if (run === null) return undefined;
      const key = { tenantId, runId };
      const [items, arms, reservations, pauses] = await Promise.all([
        ledger.items.ofRun(key),
        ledger.arms.openOfRun(key),
        ledger.reservations.ofRun(key),
        ledger.pauses.ofTenant(tenantId),
      ]);
      return viewOf(run, { items, arms, reservations, pauses }, codec);
    },

    listRuns: async (tenantId, filter, page) => {
      const [{ runs, nextCursor }, pauses] = await Promise.all([
        ledger.runs.page(tenantId, filter, page),
        ledger.pauses.ofTenant(tenantId),
      ]);
      return { runs: runs.map((run) => summaryOf(run, pauses)), nextCursor };
    },

    getTimeline: async (tenantId, runId) => {
      if (!isRunId(runId)) return undefined;
      const key = { tenantId, runId };
      const run = await ledger.runs.get(key);
      if (run === null) return undefined;
      const [deliveries, journal, skips] = await Promise.all([
        ledger.deliveries.ofRun(key),
        ledger.journal.outline(key),
        ledger.skips.ofRun(key),
      ]);
      return { runId, status: run.status, entries: timelineOf(run, deliveries, journal, skips) };
    },

    getEvidence: async (tenantId, runId, page) => {
      if (!isRunId(runId) || (await ledger.runs.progress({ tenantId, runId })) === null) return undefined;
      return evidenceOf({ tenantId, runId }, page, options);
    },

    countRuns: async (tenantId, filter, hours) => {
      const stretch = stretchOf(hours);
      return countsOf(await ledger.runs.count(tenantId, filter, stretch), stretch);
    },

    listPinned: async (tenantId) => pinnedOf(await ledger.runs.pinned(tenantId), registry.carried()),
  };
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;

function summaryOf(run: Run, pauses: readonly Pause[]): wire.RunSummary {
  const flag = (value: Run["attention"]) =>
    value === null ? null : { reason: value.reason, at: value.at.toISOString() };
  return {
    runId: run.runId,
    parentRunId: run.parentRunId,
    redriveOf: run.redriveOf,
    redrivenAs: run.redrivenAs,
    workflow: run.workflow,
    status: run.status,
    queue: run.queue,
    priority: run.priority,
    agent: run.agent,
    labels: run.labels,
    idempotencyKey: run.idempotencyKey,
    requestedBy: run.requestedBy,
    enqueueSeq: run.enqueueSeq,
    steps: run.journalLength,
    errorCode: run.errorCode,
    attention: flag(run.attention),
    quarantine: flag(run.quarantine),
    pausedAt: iso(run.pause?.at ?? null),
    pauses: heldBy(run, pauses),
    deadlineAt: iso(run.deadlineAt),
    createdAt: run.createdAt.toISOString(),
    startsAt: iso(run.startsAt),
    startedAt: iso(run.startedAt),
    finishedAt: iso(run.finishedAt),
  };
}

async function viewOf(
  run: StoredRun,
  open: {
    readonly items: readonly ContainmentItem[];
    readonly arms: readonly OpenArm[];
    readonly reservations: readonly Reservation[];
    readonly pauses: readonly Pause[];
  },
  codec: Codec,
): Promise<wire.RunView> {
  const { tenantId } = run;
  const read = async (
    stored: string | null,
    kind: "input" | "output" | "error",
    runId = run.runId,
  ): Promise<unknown> =>
    stored === null ? null : (JSON.parse(await codec.decode(stored, { tenantId, runId, kind })) as unknown);
  return {
    ...summaryOf(run, open.pauses),
    waits: open.arms.map(({ call: { kind, name, scope }, dueAt, consentId, attemptId, childRunId }) => ({
      kind,
      name,
      scope,
      dueAt: iso(dueAt),
      consentId,
      attemptId,
      childRunId,
    })),
    reservations: open.reservations.map((one) => ({
      ...one,
      askedAt: one.askedAt.toISOString(),
      heldAt: iso(one.heldAt),
    })),
    input: await read(run.inputText, "input", run.inputStoredFor),
    output: await read(run.outputText, "output"),
    error: (await read(run.errorText, "error")) as RunFailure | null,
    bodiesEmptiedAt: iso(run.bodiesEmptiedAt),
    containment: open.items.map(itemView),
  };
}
