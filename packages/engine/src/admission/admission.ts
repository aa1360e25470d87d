import {
  GhoulsError,
  MAX_DELAY_SECONDS,
  PUBLISHER_GRACE_SECONDS,
  isRunId,
  type Codec,
  type FaultInjector,
  type Ids,
  type Logger,
  type Principal,
  type QueuePort,
  type wire,
} from "@ghouls/core";
import {
  executorOn,
  inCallersTransaction,
  readRunsByKey,
  type AdmittedRun,
  type CallerConnection,
  type Ledger,
  type NewRun,
} from "@ghouls/ledger";
import { announceOrRefuse } from "../announcement.ts";
import type { Registry } from "../registry.ts";
import type { AdmissionRequest, AdmissionService } from "../services.ts";
import { traceparentOf } from "../tracing.ts";
import { admittedView, conflict, prepareAll, settleKeys, type Answer } from "./answers.ts";
import { keepTrace } from "./kept-trace.ts";
import { Publisher, publishInTime, type PublisherOptions } from "./publisher.ts";
import { redrive } from "./redrive.ts";
import { prepare, requestDigest, type Route } from "./validate.ts";

export interface AdmissionOptions {
  readonly ledger: Ledger;
  readonly queue: Pick<QueuePort, "publish">;
  readonly registry: Registry;
  /** Awaited before a run is committed: whoever carries it must find a build that has its workflow. */
  readonly announce: () => Promise<void>;
  readonly route: Route | undefined;
  readonly queues: readonly string[];
  readonly codec: Codec;
  readonly ids: Ids;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Milliseconds that another admission of the same key may hold this one up; 2,000 by default. */
  readonly lockTimeoutMs?: number;
  /** Seconds before the relay looks at a new delivery. */
  /** Opens the live channel before a publication; none where absent. */
  readonly open?: PublisherOptions["open"];
  readonly publisherGraceSeconds?: number;
}

/** What a caller keeps of an admission inside its own transaction, to publish after its COMMIT. */
export interface Receipt {
  readonly admitted: wire.Admitted;
  readonly tenantId: string;
}

export interface Admission extends AdmissionService {
  /**
   * Admits inside the caller's transaction: nothing is published, and a rollback leaves nothing.
   * @throws GhoulsError wrong_transaction outside READ COMMITTED, besides those of `admit`
   */
  admitIn(connection: CallerConnection, principal: Principal, request: AdmissionRequest): Promise<Receipt>;
  /** Publishes what a receipt stands for, after the caller's COMMIT. Without it the relay does, a little later. */
  publish(receipt: Receipt): Promise<void>;
}

/** Admission: validates, commits run and delivery together, then publishes (design.md §3, Admit). */
export function createAdmission(options: AdmissionOptions): Admission {
  const { ledger } = options;
  const publisher = new Publisher(options);
  const settings = {
    lockTimeoutMs: options.lockTimeoutMs ?? 2_000,
    publisherGraceSeconds: options.publisherGraceSeconds ?? PUBLISHER_GRACE_SECONDS,
  };

  const publishIfUnpublished = async ({
    tenantId,
    runId,
    enqueueSeq,
    queue,
    unpublished,
    dueInSeconds,
  }: AdmittedRun) => {
    // What is due later than a message can be sent ahead is the relay's.
    if (!unpublished || dueInSeconds > MAX_DELAY_SECONDS) return;
    const publication = { tenantId, runId, enqueueSeq, queue, ...delayOf(dueInSeconds) };
    await publishInTime(publisher, publication);
  };

  /**
   * The run that holds the request's key already: it was admitted, whatever a deploy has changed since then about its
   * workflow.
   */
  const admittedBefore = async (
    principal: Principal,
    { idempotencyKey, canonicalRequest }: AdmissionRequest,
  ) => {
    if (idempotencyKey === undefined) return undefined;
    const [run] = await ledger.runs.byKey([{ tenantId: principal.tenantId, idempotencyKey }]);
    if (run === undefined || run.requestDigest !== (await requestDigest(options.codec, canonicalRequest)))
      return undefined;
    return admittedView({ run, created: false });
  };

  const commit = async (newRuns: readonly NewRun[]): Promise<Answer[]> => {
    await announceOrRefuse(options.announce);
    const created = await ledger.runs.admit(newRuns, settings);
    await options.faults("admission.after-commit", `${created.size} created`);
    const answers = await settleKeys(newRuns, created, ledger.runs);
    await keepTrace(
      newRuns.flatMap((run) => (created.has(run.runId) ? [{ ...run, enqueueSeq: 1 }] : [])),
      ledger.traces.markMade,
      options.log,
    );
    await Promise.all(
      answers.flatMap((answer) => ("run" in answer ? [publishIfUnpublished(answer.run)] : [])),
    );
    return answers;
  };

  return {
    admit: async (principal, request) => {
      let newRun: NewRun;
      try {
        newRun = await prepare(options, principal, request);
      } catch (error) {
        const earlier = await admittedBefore(principal, request);
        if (earlier === undefined) throw error;
        return earlier;
      }
      const [answer] = await commit([newRun]);
      if (answer === undefined || "conflict" in answer) throw conflict(newRun.idempotencyKey);
      return admittedView(answer);
    },

    admitBatch: async (principal, requests) => {
      const newRuns = await prepareAll(requests, (request) => prepare(options, principal, request));
      const answers = await commit(newRuns);
      return {
        runs: answers.map((answer, index) =>
          "run" in answer
            ? { outcome: "admitted" as const, run: admittedView(answer) }
            : {
                outcome: "conflict" as const,
                idempotencyKey: newRuns[index]?.idempotencyKey ?? "",
                detail: conflict(newRuns[index]?.idempotencyKey ?? null).message,
              },
        ),
      };
    },

    release: async (principal, runId) => {
      const key = { tenantId: principal.tenantId, runId };
      const released =
        isRunId(runId) && (await ledger.deliveries.releaseIfHeld(key, settings.publisherGraceSeconds));
      const [run] = isRunId(runId) ? await ledger.runs.byId([key]) : [];
      if (run === undefined) {
        throw new GhoulsError("not_found", "there is no such run", { fix: "Check the run id." });
      }
      await publishIfUnpublished(run);
      const ended = run.status === "FAILING" || run.status === "FAILED" || run.status.startsWith("CANCEL");
      if (!released && (ended || run.held)) {
        // Still held, and yet not to be released: its time is over, and no pass has seen it.
        const why = ended ? `the run is ${run.status}` : "the hold has expired";
        throw new GhoulsError("hold_ended", `${why}: there is nothing left to release`, {
          fix: "Admit a new run.",
        });
      }
      return { runId, enqueueSeq: run.enqueueSeq, released };
    },

    redrive: (principal, runId, reason) =>
      redrive(
        {
          ...options,
          publish: async (run) => {
            await keepTrace([run], ledger.traces.markMade, options.log);
            await publishIfUnpublished(run);
          },
          settings,
        },
        principal,
        runId,
        reason,
      ),

    admitIn: async (connection, principal, request) => {
      const newRun = await prepare(options, principal, request);
      await announceOrRefuse(options.announce);
      const executor = executorOn(connection, ledger.schema);
      const answer = await inCallersTransaction(executor, async () => {
        const created = await ledger.runs.admitIn(executor, [newRun], settings);
        const [first] = await settleKeys([newRun], created, {
          byKey: (keys) => readRunsByKey(executor, keys),
          byId: () => Promise.resolve([]),
        });
        const traceparent = traceparentOf();
        if (traceparent !== undefined && created.has(newRun.runId))
          await ledger.traces.markMadeIn(executor, [{ ...newRun, enqueueSeq: 1 }], traceparent);
        return first;
      });
      if (answer === undefined || "conflict" in answer) throw conflict(newRun.idempotencyKey);
      return { admitted: admittedView(answer), tenantId: principal.tenantId };
    },

    publish: async ({ admitted, tenantId }) => {
      // The caller's transaction may have been open for longer than a lowered hint lasts.
      await ledger.beforeOpening();
      if (admitted.held) return;
      const { runId, enqueueSeq, queue } = admitted;
      // The transaction lasted for as long as the caller liked; the ledger knows when the run is due now.
      const [run] = admitted.startsAt === null ? [] : await ledger.runs.byId([{ tenantId, runId }]);
      const dueInSeconds = run?.dueInSeconds ?? 0;
      if (dueInSeconds > MAX_DELAY_SECONDS) return;
      await publisher.publish({ tenantId, runId, enqueueSeq, queue, ...delayOf(dueInSeconds) });
    },
  };
}

/** SQS counts whole seconds. A message that comes early goes back for the rest. */
function delayOf(seconds: number): { readonly delaySeconds?: number } {
  return seconds > 0 ? { delaySeconds: Math.min(MAX_DELAY_SECONDS, Math.ceil(seconds)) } : {};
}
