import {
  GhoulsError,
  PUBLISHER_GRACE_SECONDS,
  isRunId,
  type Codec,
  type FaultInjector,
  type JobAnswer,
  type Logger,
  type wire,
} from "@ghouls/core";
import type { Attempt, Ledger, ListedAttempt } from "@ghouls/ledger";
import { publishInTime, type Publisher } from "./admission/publisher.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import { outcomeOf } from "./delegation/asked.ts";
import { takeReport } from "./delegation/callbacks.ts";
import { follow, saidOf, type RecordDeps } from "./delegation/record.ts";
import { withCodec } from "./execution/encoded.ts";
import { verified } from "./execution/loaded-journal.ts";
import type { AttemptService } from "./services.ts";

export interface AttemptsOptions {
  readonly ledger: Ledger;
  readonly codec: Codec;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
  readonly log: Logger;
}

const SETTINGS = { publisherGraceSeconds: PUBLISHER_GRACE_SECONDS };

/** Delegated jobs as services report them, and as people see and settle them. */
export function createAttempts(options: AttemptsOptions): AttemptService {
  const { ledger, codec, publisher, faults, log } = options;
  const deps: RecordDeps = {
    ledger,
    codec,
    publisher: { publish: (delivery) => publishInTime(publisher, delivery) },
    log,
    settings: SETTINGS,
  };
  return {
    get: async (tenantId, attemptId) => {
      if (!isRunId(attemptId)) return undefined;
      const attempt = await ledger.attempts.get({ tenantId, attemptId });
      return attempt === null ? undefined : withCodec(() => viewOf(attempt, codec));
    },

    list: async (tenantId, filter, page) => {
      const { attempts, next } = await ledger.attempts.page(tenantId, filter, {
        limit: page.limit,
        ...(page.cursor === undefined ? {} : { after: positionOf(page.cursor) }),
      });
      return { attempts: attempts.map(summaryOf), nextCursor: next === undefined ? null : cursorOf(next) };
    },

    report: async (attemptId, token, report) => {
      const attempt = isRunId(attemptId) ? await ledger.attempts.forCallback(attemptId) : null;
      const status = await takeReport(attempt, token, report, deps);
      await faults("callbacks.after-commit", attemptId);
      return { attemptId, status };
    },

    resolve: (principal, attemptId, word) =>
      withCodec(async () => {
        const { tenantId, subject } = principal;
        const attempt = isRunId(attemptId) ? await ledger.attempts.get({ tenantId, attemptId }) : null;
        if (attempt === null) throw absent();
        const { answer, outcome } = await outcomeOf(attempt, answerOf(word), codec);
        if (answer.state === "unknown")
          throw new GhoulsError("invalid_request", answer.why, { fix: "Give a result that JSON can hold." });
        const by = `operator ${subject}`;
        let found = attempt;
        const changed = await ledger.attempts.change(
          attempt,
          (now) => {
            found = now;
            // What may still be sent would act after the word that ends it.
            if (now.status !== "UNCERTAIN" || !now.late) return undefined;
            const status = STATUS_OF[word.outcome];
            return {
              status,
              by,
              acknowledged: false,
              missed: false,
              nextLookSeconds: 0,
              ...(outcome && { report: outcome.report }),
            };
          },
          SETTINGS,
          { actor: subject, reason: word.reason },
        );
        if (changed === null) {
          const { status, closedBy, runId } = found;
          if (status === "UNCERTAIN") throw underWay();
          // The same word of the same person again: the answer to an earlier try of it may have been lost.
          const same = closedBy === by && status === STATUS_OF[word.outcome];
          if (same && (await saidOf(found, codec)) === outcome?.canonical)
            return { attemptId, runId, status, resumed: false };
          throw new GhoulsError(
            "attempt_settled",
            `the attempt is ${status}: only one that is UNCERTAIN can be settled by a word`,
            { fix: "GET /v1/attempts/<id> has its state; cancel its run to have the job cancelled." },
          );
        }
        await follow(attempt, changed, deps);
        return {
          attemptId,
          runId: attempt.runId,
          status: changed.status,
          resumed: changed.resumption !== null,
        };
      }),
  };
}

/** Of a job of which nobody may say that nothing of it acts. */
export function underWay(): GhoulsError {
  return new GhoulsError("attempt_under_way", "a worker may still be sending the job to its service", {
    fix: "Wait, ask the service again after that, and then say how the job has ended.",
  });
}

const STATUS_OF = { succeeded: "SUCCEEDED", failed: "FAILED", cancelled: "CANCELLED" } as const;

function answerOf(word: wire.AttemptResolution): JobAnswer {
  switch (word.outcome) {
    case "succeeded":
      return { state: "succeeded", result: word.result ?? null };
    case "failed":
      return { state: "failed", error: word.error ?? { code: "operator", message: word.reason } };
    case "cancelled":
      return { state: "cancelled" };
  }
}

function summaryOf(attempt: ListedAttempt): wire.AttemptSummary {
  const iso = (at: Date | null) => at?.toISOString() ?? null;
  return {
    attemptId: attempt.attemptId,
    runId: attempt.runId,
    workflow: attempt.workflow,
    name: attempt.name,
    status: attempt.status,
    service: attempt.service,
    executor: { adapter: attempt.adapter, version: attempt.adapterVersion, digest: attempt.serviceDigest },
    digest: attempt.requestDigest,
    idempotencyKey: attempt.idempotencyKey,
    submissions: attempt.submissions,
    uncertain: attempt.uncertainReason,
    trouble:
      attempt.trouble === null ? null : { why: attempt.trouble.why, at: attempt.trouble.at.toISOString() },
    cancelling: attempt.cancelReason,
    contradiction: attempt.contradiction,
    createdAt: attempt.createdAt.toISOString(),
    acknowledgedAt: iso(attempt.acknowledgedAt),
    heartbeatAt: iso(attempt.heartbeatAt),
    deadlineAt: iso(attempt.deadlineAt),
    nextLookAt: iso(attempt.nextLookAt),
    closedAt: iso(attempt.closedAt),
    closedBy: attempt.closedBy,
  };
}

/** @throws DisagreementError where what is kept is not what was asked or said */
async function viewOf(attempt: Attempt, codec: Codec): Promise<wire.AttemptView> {
  const { tenantId, runId, requestText, storedDigest } = attempt;
  // Null where retention has emptied it.
  const request =
    requestText === ""
      ? "null"
      : await verified(requestText, storedDigest, "a job", (stored) =>
          codec.decode(stored, { tenantId, runId, kind: "job" }),
        );
  const text = await saidOf(attempt, codec);
  const said: unknown = text === undefined ? null : JSON.parse(text);
  return {
    ...summaryOf(attempt),
    request: JSON.parse(request) as unknown,
    result: attempt.status === "SUCCEEDED" ? said : null,
    error: attempt.status === "FAILED" ? (said as wire.AttemptView["error"]) : null,
  };
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "there is no such attempt", {
    fix: "GET /v1/attempts lists those that this token may see.",
  });
}
