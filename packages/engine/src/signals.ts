import {
  GhoulsError,
  PUBLISHER_GRACE_SECONDS,
  isRunId,
  sha256,
  type Codec,
  type FaultInjector,
  type Ids,
} from "@ghouls/core";
import { MAX_BUFFERED_SIGNALS, type Ledger } from "@ghouls/ledger";
import { requestDigest } from "./admission/validate.ts";
import { publishInTime, type Publisher } from "./admission/publisher.ts";
import type { SignalService } from "./services.ts";

export interface SignalsOptions {
  readonly ledger: Ledger;
  readonly codec: Codec;
  readonly ids: Ids;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
}

/** Signals to runs: kept in one commit with what they bring back. */
export function createSignals({ ledger, codec, ids, publisher, faults }: SignalsOptions): SignalService {
  return {
    send: async (principal, runId, signal) => {
      if (!isRunId(runId)) throw absent();
      const { tenantId, subject } = principal;
      const { name, payloadText, idempotencyKey } = signal;
      const stored =
        payloadText === undefined
          ? null
          : await codec.encode(payloadText, { tenantId, runId, kind: "signal" });
      const answer = await ledger.signals.keep(
        {
          tenantId,
          runId,
          signalId: ids.next(),
          name,
          idempotencyKey: idempotencyKey ?? null,
          requestDigest: await requestDigest(codec, `${JSON.stringify(name)} ${payloadText ?? ""}`),
          payloadText: stored,
          payloadDigest: stored === null ? null : sha256(stored),
          sentBy: subject,
        },
        { publisherGraceSeconds: PUBLISHER_GRACE_SECONDS },
      );
      if (answer === null) throw absent();
      await faults("signals.after-commit", runId);
      switch (answer.kind) {
        case "kept":
          if (answer.resumption !== null) await publishInTime(publisher, answer.resumption);
          return {
            runId,
            signalId: answer.signalId,
            repeated: answer.repeated,
            resumed: answer.resumption !== null,
          };
        case "conflict":
          throw new GhoulsError("idempotency_conflict", "the idempotency key was used for another signal", {
            fix: "Use a new key for a new signal, or send the same one again.",
          });
        case "full":
          throw new GhoulsError(
            "too_many_signals",
            `${MAX_BUFFERED_SIGNALS} signals of the run wait to be taken already`,
            { fix: "Send it again once the run has taken some.", retryAfterSeconds: 60 },
          );
        case "ended":
          throw new GhoulsError("run_ended", `the run is ${answer.status}: nothing takes a signal any more`, {
            fix: "Admit a new run.",
          });
      }
    },
  };
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "there is no such run", { fix: "Check the run id." });
}
