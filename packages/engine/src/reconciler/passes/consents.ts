import {
  describeFailure,
  readSourceAnswer,
  sha256,
  type Codec,
  type DecisionSource,
  type FaultInjector,
  type Logger,
} from "@ghouls/core";
import type { Ledger, Position, StoredConsent } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { answerWithin } from "../../patience.ts";
import type { Page } from "../pages.ts";

export interface ConsentsPassOptions {
  readonly ledger: Pick<Ledger, "consents">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly codec: Codec;
  /** By their names in the configuration. */
  readonly decisionSources: Readonly<Record<string, DecisionSource>>;
  readonly faults: FaultInjector;
  readonly log: Logger;
  /** Consents of one page. */
  readonly pageSize: number;
  readonly settings: { readonly publisherGraceSeconds: number; readonly ownerDeadlineMs: number };
}

export interface ConsentCounts {
  readonly due: number;
  readonly decided: number;
  readonly failed: number;
}

/** Seconds until a source that does not know yet is asked again: 30 s, doubling to an hour. */
function nextLookSeconds(looks: number): number {
  return Math.min(3_600, 30 * 2 ** Math.min(looks, 10));
}

/**
 * One page of consent re-admission: asks the sources of consents that somebody else decides. Each has one deadline over its
 * answer; one that does not answer keeps its consent PENDING and is asked again later, and lets the others go on.
 */
export async function lookUpConsents(
  options: ConsentsPassOptions,
  after?: Position,
): Promise<Page<ConsentCounts>> {
  const { ledger, faults, log } = options;
  const { found: due, next } = await ledger.consents.toLookUp(options.pageSize, after);
  if (due.length > 0) await faults("consents.after-select", `${due.length} due`);
  const outcomes = await Promise.all(
    due.map(async (consent) => {
      try {
        // First, so that a source that fails takes no turn of the others.
        await ledger.consents.postponeLookUp(consent, nextLookSeconds(consent.looks));
        return await lookUp(consent, options);
      } catch (error) {
        log.warn("a decision source could not be asked", {
          runId: consent.runId,
          source: consent.source,
          error: describeFailure(error).message.slice(0, 200),
        });
        return "failed" as const;
      }
    }),
  );
  const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
  return { counts: { due: due.length, decided: count("decided"), failed: count("failed") }, next };
}

async function lookUp(
  consent: StoredConsent,
  options: ConsentsPassOptions,
): Promise<"decided" | "pending" | "late"> {
  const { ledger, publisher, codec, faults, log, settings } = options;
  const name = consent.source ?? "";
  const source = Object.hasOwn(options.decisionSources, name) ? options.decisionSources[name] : undefined;
  if (source === undefined) throw new Error(`the configuration has no decision source "${name}"`);
  const { tenantId, runId, consentId, title, requestText, requestDigest: digest } = consent;
  const request = JSON.parse(await codec.decode(requestText, { tenantId, runId, kind: "consent" })) as {
    detail: unknown;
  };
  const abort = new AbortController();
  const answer = readSourceAnswer(
    await answerWithin(
      source.lookUp({ tenantId, runId, consentId, title, digest, detail: request.detail }, abort.signal),
      settings.ownerDeadlineMs,
    ).finally(() => abort.abort()),
  );
  await faults("consents.after-look", consentId);
  if (answer.outcome === "pending") return "pending";
  const comment = answer.comment ?? null;
  const commentText =
    comment === null ? null : await codec.encode(comment, { tenantId, runId, kind: "comment" });
  const decided = await ledger.consents.decide(
    { tenantId, consentId },
    {
      subject: `source:${name}/${answer.by}`.slice(0, 300),
      roles: [],
      verdict: answer.outcome,
      digest,
      commentText,
      commentDigest: commentText === null ? null : sha256(commentText),
    },
    { publisherGraceSeconds: settings.publisherGraceSeconds, asSource: true },
  );
  if (decided === null) return "pending";
  // Also where its word came after the consent's time: that is over, which brings the run back.
  if (decided.resumption !== null) await publisher.publish(decided.resumption);
  const { outcome } = answer;
  if (decided.judgement.kind !== "counts") {
    const { status } = decided.consent;
    log.info("a decision source was late", { runId, source: name, outcome, status });
    return "late";
  }
  log.info("a decision source has decided a consent", { runId, source: name, outcome });
  return "decided";
}
